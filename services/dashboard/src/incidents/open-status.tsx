import type { ReactNode } from 'react';
import { StatusBadge } from '../components/text.tsx';
import { useMonitor } from '../monitors/list/list-hooks.ts';
import { shownStatus } from '../monitors/shown-status.ts';

/** The status of an open incident's monitor, which is down, in maintenance or paused. */
export function OpenStatus({ monitorId }: { readonly monitorId: string }): ReactNode {
  const monitor = useMonitor(monitorId);
  const shown = monitor && shownStatus(monitor);
  const status = shown === 'MAINTENANCE' || shown === 'PAUSED' ? shown : 'DOWN';
  return <StatusBadge status={status} isFailing={monitor?.failing} />;
}
