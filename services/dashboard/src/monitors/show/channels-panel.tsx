import { Skeleton, Stack, Text } from '@mantine/core';
import { IconAlertTriangle, IconBellOff } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import type { Channel } from '@tocsin/contracts/channels/channel';
import type { ReactNode } from 'react';
import { Loaded } from '../../components/loaded.tsx';
import { Panel } from '../../components/panel.tsx';
import { TextLink } from '../../components/text-link.tsx';
import { Time } from '../../components/time.tsx';
import { allChannelsQuery } from './queries.ts';
import classes from './show.module.css';

/** Who is told when the monitor's status changes. */
export function ChannelsPanel({ monitorId }: { readonly monitorId: string }): ReactNode {
  const query = useQuery(allChannelsQuery);
  return (
    <Panel title="Channels">
      <Loaded query={query} pending={<Skeleton height={56} />}>
        {(channels) => <Assigned channels={channels} monitorId={monitorId} />}
      </Loaded>
    </Panel>
  );
}

function Assigned({
  channels,
  monitorId,
}: {
  readonly channels: readonly Channel[];
  readonly monitorId: string;
}): ReactNode {
  const assigned = channels.filter(
    ({ allMonitors, monitorIds }) => allMonitors || monitorIds.includes(monitorId),
  );
  return (
    <Stack gap="sm">
      {assigned.every(({ enabled }) => !enabled) && (
        <NobodyIsTold anyAssigned={assigned.length > 0} anyMade={channels.length > 0} />
      )}
      {assigned.length > 0 && (
        <ul className={classes['list']}>
          {assigned.map((channel) => (
            <ChannelItem key={channel.id} channel={channel} />
          ))}
        </ul>
      )}
    </Stack>
  );
}

interface NobodyIsToldProps {
  readonly anyAssigned: boolean;
  readonly anyMade: boolean;
}

function NobodyIsTold({ anyAssigned, anyMade }: NobodyIsToldProps): ReactNode {
  return (
    <Text size="sm" component="div">
      <b className={classes['soon']}>
        <IconBellOff size={16} aria-hidden /> Nobody is told
      </b>
      <div>
        {anyAssigned
          ? 'Every channel of this monitor is disabled. Enable one, so that somebody hears when it goes down.'
          : 'No channel is assigned to this monitor, so nobody hears when it goes down.'}
      </div>
      {!anyAssigned && (
        <TextLink to={anyMade ? '/channels' : '/channels/new'} size="sm">
          {anyMade ? 'Assign a channel' : 'Create the first channel'}
        </TextLink>
      )}
    </Text>
  );
}

function ChannelItem({ channel }: { readonly channel: Channel }): ReactNode {
  const { id, name, enabled, disabledReason, failingSince, allMonitors } = channel;
  return (
    <li>
      <TextLink
        to="/channels/$channelId"
        params={{ channelId: id }}
        size="sm"
        fw={600}
        className={classes['address'] ?? ''}
      >
        {name}
      </TextLink>
      {allMonitors && (
        <Text size="xs" c="var(--text-quiet)">
          Told of every monitor
        </Text>
      )}
      {!enabled && (
        <Text size="xs" className={classes['bad'] ?? ''}>
          <IconAlertTriangle size={13} aria-hidden /> Disabled
          {disabledReason === null ? '' : `: ${disabledReason}`}
        </Text>
      )}
      {enabled && failingSince !== null && (
        <Text size="xs" className={classes['soon'] ?? ''}>
          <IconAlertTriangle size={13} aria-hidden /> Failing since <Time value={failingSince} />
        </Text>
      )}
    </li>
  );
}
