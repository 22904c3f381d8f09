import type { CheckStatus, MonitorStatus } from '@tocsin/contracts/vocabulary';
import {
  IconCircleCheckFilled,
  IconClockPause,
  IconProgress,
  IconSquareRoundedXFilled,
} from '@tabler/icons-react';
import type { ReactNode } from 'react';
import classes from './status-badge.module.css';

const LOOKS = {
  UP: { label: 'Up', icon: IconCircleCheckFilled },
  DOWN: { label: 'Down', icon: IconSquareRoundedXFilled },
  PENDING: { label: 'Pending', icon: IconProgress },
  MAINTENANCE: { label: 'Maintenance', icon: IconClockPause },
} as const;

/** A status in words, shape and colour. */
export function StatusBadge({ status }: { readonly status: MonitorStatus | CheckStatus }): ReactNode {
  const { label, icon: Icon } = LOOKS[status];
  return (
    <span className={classes['badge']} data-status={status}>
      <Icon size={16} aria-hidden />
      {label}
    </span>
  );
}
