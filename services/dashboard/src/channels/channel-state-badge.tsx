import type { Channel } from '@tocsin/contracts/channel';
import {
  IconAlertTriangleFilled,
  IconCircleCheckFilled,
  IconPlayerPauseFilled,
  IconSquareRoundedXFilled,
} from '@tabler/icons-react';
import type { ReactNode } from 'react';
import { channelState } from './channel-state.ts';
import classes from './states.module.css';

const LOOKS = {
  working: { label: 'Enabled', icon: IconCircleCheckFilled, tone: 'good' },
  failing: { label: 'Failing', icon: IconAlertTriangleFilled, tone: 'bad' },
  'switched-off': { label: 'Disabled by hand', icon: IconPlayerPauseFilled, tone: 'quiet' },
  disabled: { label: 'Disabled', icon: IconSquareRoundedXFilled, tone: 'bad' },
} as const;

/** Whether a channel sends, in words, shape and colour. */
export function ChannelStateBadge({ channel }: { readonly channel: Channel }): ReactNode {
  const { label, icon: Icon, tone } = LOOKS[channelState(channel)];
  return (
    <span className={classes['state']} data-tone={tone}>
      <Icon size={16} aria-hidden />
      {label}
    </span>
  );
}
