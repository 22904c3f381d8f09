import type { MaintenanceWindowState } from '@tocsin/contracts/maintenance-window';
import { IconCalendarEvent, IconCheck, IconClockPause } from '@tabler/icons-react';
import type { ReactNode } from 'react';
import classes from './window-state.module.css';

const LOOKS = {
  running: { label: 'Running', icon: IconClockPause },
  scheduled: { label: 'Scheduled', icon: IconCalendarEvent },
  ended: { label: 'Ended', icon: IconCheck },
} as const;

export function WindowStateBadge({ state }: { readonly state: MaintenanceWindowState }): ReactNode {
  const { label, icon: Icon } = LOOKS[state];
  return (
    <span className={classes['state']} data-state={state}>
      <Icon size={16} aria-hidden />
      {label}
    </span>
  );
}
