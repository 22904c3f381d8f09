import type { DeliveryState } from '@tocsin/contracts/vocabulary';
import {
  IconCircleCheckFilled,
  IconClock,
  IconPlayerPauseFilled,
  IconSquareRoundedXFilled,
} from '@tabler/icons-react';
import type { ReactNode } from 'react';
import { STATE_WORDS } from './delivery-words.ts';
import classes from './states.module.css';

const LOOKS = {
  pending: { icon: IconClock, tone: 'quiet' },
  delivered: { icon: IconCircleCheckFilled, tone: 'good' },
  failed: { icon: IconSquareRoundedXFilled, tone: 'bad' },
  held: { icon: IconPlayerPauseFilled, tone: 'quiet' },
} as const;

export function DeliveryStateBadge({ state }: { readonly state: DeliveryState }): ReactNode {
  const { icon: Icon, tone } = LOOKS[state];
  return (
    <span className={classes['state']} data-tone={tone}>
      <Icon size={16} aria-hidden />
      {STATE_WORDS[state]}
    </span>
  );
}
