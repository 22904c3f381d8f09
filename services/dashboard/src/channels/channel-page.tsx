import type { ReactNode } from 'react';
import { PageHeader } from '../components/page-header.tsx';

export function ChannelPage(): ReactNode {
  return <PageHeader title="Channel" />;
}
