import type { Channel } from '@tocsin/contracts/channel';
import {
  IconAlertTriangleFilled,
  IconCircleCheckFilled,
  IconPlayerPauseFilled,
  IconSquareRoundedXFilled,
} from '@tabler/icons-react';
import type { ReactNode } from 'react';
import { StateBadge, type StateLook } from '../components/state-badge.tsx';
import { channelState, type ChannelStateName } from './channel-state.ts';

const LOOKS: Readonly<Record<ChannelStateName, StateLook>> = {
  working: { label: 'Enabled', icon: IconCircleCheckFilled, tone: 'good' },
  failing: { label: 'Failing', icon: IconAlertTriangleFilled, tone: 'bad' },
  'switched-off': { label: 'Disabled by hand', icon: IconPlayerPauseFilled, tone: 'quiet' },
  disabled: { label: 'Disabled', icon: IconSquareRoundedXFilled, tone: 'bad' },
};

/** Whether a channel sends. */
export function ChannelStateBadge({ channel }: { readonly channel: Channel }): ReactNode {
  return <StateBadge look={LOOKS[channelState(channel)]} />;
}
