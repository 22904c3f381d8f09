import {
  IconAlertTriangleFilled,
  IconCircleCheckFilled,
  IconClock,
  IconPlayerPauseFilled,
  IconSquareRoundedXFilled,
} from '@tabler/icons-react';
import type { Channel } from '@tocsin/contracts/channels/channel';
import type { DeliveryState } from '@tocsin/contracts/vocabulary';
import type { ReactNode } from 'react';
import { StateBadge, type StateLook } from '../components/text.tsx';
import { channelState, type ChannelState, STATE_LABELS } from './channel-text.ts';

const CHANNEL_LOOKS: Readonly<Record<ChannelState, StateLook>> = {
  working: { label: 'Enabled', icon: IconCircleCheckFilled, tone: 'good' },
  failing: { label: 'Failing', icon: IconAlertTriangleFilled, tone: 'bad' },
  'switched-off': { label: 'Disabled by hand', icon: IconPlayerPauseFilled, tone: 'quiet' },
  disabled: { label: 'Disabled', icon: IconSquareRoundedXFilled, tone: 'bad' },
};
const DELIVERY_LOOKS: Readonly<Record<DeliveryState, Omit<StateLook, 'label'>>> = {
  pending: { icon: IconClock, tone: 'quiet' },
  delivered: { icon: IconCircleCheckFilled, tone: 'good' },
  failed: { icon: IconSquareRoundedXFilled, tone: 'bad' },
  held: { icon: IconPlayerPauseFilled, tone: 'quiet' },
};

export function ChannelStateBadge({ channel }: { readonly channel: Channel }): ReactNode {
  return <StateBadge look={CHANNEL_LOOKS[channelState(channel)]} />;
}

export function DeliveryStateBadge({ state }: { readonly state: DeliveryState }): ReactNode {
  return <StateBadge look={{ label: STATE_LABELS[state], ...DELIVERY_LOOKS[state] }} />;
}
