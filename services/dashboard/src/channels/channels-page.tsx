import type { ReactNode } from 'react';
import { PageHeader } from '../components/page-header.tsx';

export function ChannelsPage(): ReactNode {
  return <PageHeader title="Channels" />;
}
