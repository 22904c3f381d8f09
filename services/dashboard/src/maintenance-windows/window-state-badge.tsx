import type { MaintenanceWindowState } from '@tocsin/contracts/maintenance-window';
import { IconCalendarEvent, IconCheck, IconClockPause } from '@tabler/icons-react';
import type { ReactNode } from 'react';
import { StateBadge, type StateLook } from '../components/state-badge.tsx';

const LOOKS: Readonly<Record<MaintenanceWindowState, StateLook>> = {
  running: { label: 'Running', icon: IconClockPause, tone: 'maintenance' },
  scheduled: { label: 'Scheduled', icon: IconCalendarEvent, tone: 'plain' },
  ended: { label: 'Ended', icon: IconCheck, tone: 'quiet' },
};

export function WindowStateBadge({ state }: { readonly state: MaintenanceWindowState }): ReactNode {
  return <StateBadge look={LOOKS[state]} />;
}
