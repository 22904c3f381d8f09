import type { ReactNode } from 'react';
import { PageHeader } from '../components/page-header.tsx';

export function NewChannelPage(): ReactNode {
  return <PageHeader title="New channel" />;
}
