import type { CheckStatus, MonitorStatus } from '@tocsin/contracts/vocabulary';
import {
  IconCircleCheckFilled,
  IconClockPause,
  IconProgress,
  IconSquareRoundedXFilled,
} from '@tabler/icons-react';
import type { ReactNode } from 'react';
import { StateBadge, type StateLook } from './state-badge.tsx';

const LOOKS: Readonly<Record<MonitorStatus | CheckStatus, StateLook>> = {
  UP: { label: 'Up', icon: IconCircleCheckFilled, tone: 'good' },
  DOWN: { label: 'Down', icon: IconSquareRoundedXFilled, tone: 'bad' },
  PENDING: { label: 'Pending', icon: IconProgress, tone: 'quiet' },
  MAINTENANCE: { label: 'Maintenance', icon: IconClockPause, tone: 'maintenance' },
};

export function StatusBadge({ status }: { readonly status: MonitorStatus | CheckStatus }): ReactNode {
  return <StateBadge look={LOOKS[status]} />;
}
