import type { DeliveryState } from '@tocsin/contracts/vocabulary';
import {
  IconCircleCheckFilled,
  IconClock,
  IconPlayerPauseFilled,
  IconSquareRoundedXFilled,
} from '@tabler/icons-react';
import type { ReactNode } from 'react';
import { StateBadge, type StateLook } from '../components/state-badge.tsx';
import { STATE_WORDS } from './delivery-words.ts';

const LOOKS: Readonly<Record<DeliveryState, Omit<StateLook, 'label'>>> = {
  pending: { icon: IconClock, tone: 'quiet' },
  delivered: { icon: IconCircleCheckFilled, tone: 'good' },
  failed: { icon: IconSquareRoundedXFilled, tone: 'bad' },
  held: { icon: IconPlayerPauseFilled, tone: 'quiet' },
};

export function DeliveryStateBadge({ state }: { readonly state: DeliveryState }): ReactNode {
  return <StateBadge look={{ label: STATE_WORDS[state], ...LOOKS[state] }} />;
}
