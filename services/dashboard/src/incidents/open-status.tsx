import type { ReactNode } from 'react';
import { StatusBadge } from '../components/text.tsx';
import { useMonitor } from '../monitors/list/list-hooks.ts';

/** The status of an open incident's monitor, which is down or in maintenance. */
export function OpenStatus({ monitorId }: { readonly monitorId: string }): ReactNode {
  const monitor = useMonitor(monitorId);
  const status = monitor?.status === 'MAINTENANCE' ? 'MAINTENANCE' : 'DOWN';
  return <StatusBadge status={status} isFailing={monitor?.failing} />;
}
