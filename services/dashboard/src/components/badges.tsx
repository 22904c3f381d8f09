import {
  type Icon,
  IconCircleCheckFilled,
  IconClockPause,
  IconProgress,
  IconSquareRoundedXFilled,
} from '@tabler/icons-react';
import type { CheckStatus, MonitorStatus } from '@tocsin/contracts/vocabulary';
import type { ReactNode } from 'react';
import classes from './badges.module.css';

/** How a state looks. `plain` has the color of the surrounding text. */
export interface StateLook {
  readonly label: string;
  readonly icon: Icon;
  readonly tone: 'good' | 'bad' | 'quiet' | 'maintenance' | 'plain';
}

/** A state as an icon and a label, so that color is not the only sign. */
export function StateBadge({ look: { label, icon: Icon, tone } }: { readonly look: StateLook }): ReactNode {
  return (
    <span className={classes['badge']} data-tone={tone}>
      <Icon size={16} aria-hidden />
      {label}
    </span>
  );
}

const LOOKS: Readonly<Record<MonitorStatus | CheckStatus, StateLook>> = {
  UP: { label: 'Up', icon: IconCircleCheckFilled, tone: 'good' },
  DOWN: { label: 'Down', icon: IconSquareRoundedXFilled, tone: 'bad' },
  PENDING: { label: 'Pending', icon: IconProgress, tone: 'quiet' },
  MAINTENANCE: { label: 'Maintenance', icon: IconClockPause, tone: 'maintenance' },
};

export function StatusBadge({ status }: { readonly status: MonitorStatus | CheckStatus }): ReactNode {
  return <StateBadge look={LOOKS[status]} />;
}
