import { Alert, Text } from '@mantine/core';
import { IconBellOff, IconPlugConnectedX } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import type { Channel } from '@tocsin/contracts/channels/channel';
import type { Monitor } from '@tocsin/contracts/monitors/monitor';
import type { ReactNode } from 'react';
import { channelsQuery } from '../../../channels/queries.ts';
import { TextLink } from '../../../components/text.tsx';
import { isCovered } from '../../../labels/coverage.ts';
import { describeUnserved, useUnservedRegions } from '../../../regions/regions.ts';
import { useCan, useDefaultRegion } from '../../../session/session.ts';
import { regionsOf } from '../../list/arrange-monitors.ts';

interface MonitorProps {
  readonly monitor: Monitor;
}

/** Warns about an incomplete status and missing channels. */
export function Warnings({ monitor }: MonitorProps): ReactNode {
  const { data: channels } = useQuery(channelsQuery);
  if (!monitor.enabled) return null;
  return (
    <>
      <UnservedWarning monitor={monitor} />
      {channels !== undefined && monitor.status !== 'DOWN' && (
        <NoChannel channels={channels} monitor={monitor} />
      )}
    </>
  );
}

/** Warns that regions without a checker do not contribute to the status. */
function UnservedWarning({ monitor }: MonitorProps): ReactNode {
  const regions = regionsOf(monitor, useDefaultRegion());
  const unserved = useUnservedRegions();
  const missing = regions.filter((region) => unserved.includes(region));
  if (missing.length === 0) return null;
  return (
    <Alert color="orange" icon={<IconPlugConnectedX aria-hidden />} role="status">
      <Text size="sm">
        <b>{describeUnserved(missing)}.</b>{' '}
        {missing.length === regions.length
          ? 'The status cannot change until a checker starts or an agent connects.'
          : 'The status comes from the other regions only.'}{' '}
        <TextLink to="/regions" size="sm" underline="always">
          Regions
        </TextLink>
      </Text>
    </Alert>
  );
}

interface NoChannelProps extends MonitorProps {
  readonly channels: readonly Channel[];
}

/** Warns if no channel would send alerts about a monitor. */
export function NoChannel({ channels, monitor }: NoChannelProps): ReactNode {
  const can = useCan();
  const assigned = channels.filter((channel) => isCovered(channel, monitor));
  if (assigned.some(({ enabled }) => enabled)) return null;
  return (
    <Alert color="orange" icon={<IconBellOff aria-hidden />} role="status">
      <Text size="sm">
        <b>No channel is notified about this monitor.</b>{' '}
        {assigned.length > 0 && 'All of its channels are disabled.'}
        {assigned.length === 0 && can.change && (
          <TextLink to={channels.length > 0 ? '/channels' : '/channels/new'} size="sm" underline="always">
            {channels.length > 0 ? 'Assign a channel' : 'Create a channel'}
          </TextLink>
        )}
      </Text>
    </Alert>
  );
}
