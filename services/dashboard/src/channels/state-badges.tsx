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
import { channelState, type ChannelState } from './channel-text.ts';

const CHANNEL_LOOKS: Readonly<Record<ChannelState, StateLook>> = {
  working: { label: 'Enabled', icon: IconCircleCheckFilled, tone: 'good' },
  failing: { label: 'Failing', icon: IconAlertTriangleFilled, tone: 'bad' },
  'switched-off': { label: 'Disabled manually', icon: IconPlayerPauseFilled, tone: 'quiet' },
  disabled: { label: 'Disabled', icon: IconSquareRoundedXFilled, tone: 'bad' },
};
export const DELIVERY_LOOKS: Readonly<Record<DeliveryState, StateLook>> = {
  pending: { label: 'Pending', icon: IconClock, tone: 'quiet' },
  delivered: { label: 'Delivered', icon: IconCircleCheckFilled, tone: 'good' },
  failed: { label: 'Failed', icon: IconSquareRoundedXFilled, tone: 'bad' },
  held: { label: 'Held', icon: IconPlayerPauseFilled, tone: 'quiet' },
};

export function ChannelStateBadge({ channel }: { readonly channel: Channel }): ReactNode {
  return <StateBadge look={CHANNEL_LOOKS[channelState(channel)]} />;
}
