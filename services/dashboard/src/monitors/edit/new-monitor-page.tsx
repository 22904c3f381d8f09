import type { ReactNode } from 'react';
import { PageHeader } from '../../components/page-header.tsx';
import { MonitorForm } from './monitor-form.tsx';

export function NewMonitorPage(): ReactNode {
  return (
    <>
      <PageHeader title="New monitor" hint="A name and a URL are enough." />
      <MonitorForm monitor={null} />
    </>
  );
}
