import { Group, Skeleton, Stack, Text } from '@mantine/core';
import { IconAlertTriangle, IconCircleCheck, IconFlame } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import type { Channel } from '@tocsin/contracts/channels/channel';
import type { Incident } from '@tocsin/contracts/incidents/incident';
import type { ListedMaintenanceWindow } from '@tocsin/contracts/maintenance-windows/maintenance-window';
import type { Monitor } from '@tocsin/contracts/monitors/monitor';
import type { ReactNode } from 'react';
import { channelsQuery } from '../../channels/queries.ts';
import { windowsQuery } from '../../maintenance-windows/queries.ts';
import { describeCause, formatSpan } from '../../components/format.ts';
import { Loaded } from '../../components/load-states.tsx';
import { Panel } from '../../components/page.tsx';
import { Quiet, TextLink, Time, useNow } from '../../components/text.tsx';
import { Acknowledged } from '../../incidents/acknowledgement.tsx';
import { isCovered } from '../../labels/coverage.ts';
import { MAX_INCIDENTS, monitorIncidentsQuery } from '../queries.ts';
import { maintenanceOf } from './figures.ts';
import classes from './show.module.css';

const MAX_WINDOWS = 5;

interface PanelProps {
  readonly monitorId: string;
}

interface MonitorProps {
  readonly monitor: Monitor;
}

export function IncidentsPanel({ monitorId }: PanelProps): ReactNode {
  const query = useQuery(monitorIncidentsQuery(monitorId));
  return (
    <Panel title="Incidents">
      <Loaded query={query} pending={<Skeleton height={56} />}>
        {(incidents) =>
          incidents.length === 0 ? (
            <Quiet>No incidents yet.</Quiet>
          ) : (
            <ul className={classes['list']}>
              {incidents.map((incident) => (
                <IncidentItem key={incident.id} incident={incident} />
              ))}
            </ul>
          )
        }
      </Loaded>
      {query.data?.length === MAX_INCIDENTS && (
        <TextLink to="/incidents" search={{ monitorId }} size="sm">
          All incidents
        </TextLink>
      )}
    </Panel>
  );
}

function IncidentItem({ incident }: { readonly incident: Incident }): ReactNode {
  const { openedAt, resolvedAt, durationSeconds, cause, errorDetail, region } = incident;
  const isOpen = resolvedAt === null;
  const now = useNow(isOpen);
  const Icon = isOpen ? IconFlame : IconCircleCheck;
  return (
    <li>
      <Group justify="space-between" gap="xs" wrap="nowrap">
        <Group gap={6} wrap="nowrap" className={classes[isOpen ? 'bad' : 'quiet'] ?? ''}>
          <Icon size={16} aria-hidden />
          <TextLink
            to="/incidents/$incidentId"
            params={{ incidentId: incident.id }}
            size="sm"
            fw={500}
            c="inherit"
          >
            {isOpen ? 'Open' : 'Resolved'}
          </TextLink>
        </Group>
        <Text span size="sm" className="tabular">
          {formatSpan(isOpen ? (now - Date.parse(openedAt)) / 1_000 : durationSeconds)}
        </Text>
      </Group>
      <Text size="sm" style={{ overflowWrap: 'anywhere' }}>
        {describeCause(cause, errorDetail)} · {region}
      </Text>
      <Quiet size="xs">
        <Time value={openedAt} />
        {!isOpen && (
          <>
            {' to '}
            <Time value={resolvedAt} />
          </>
        )}
      </Quiet>
      <Acknowledged incident={incident} />
    </li>
  );
}

/** The channels that send alerts for a monitor. */
export function ChannelsPanel({ monitor }: MonitorProps): ReactNode {
  const query = useQuery(channelsQuery);
  return (
    <Panel title="Channels">
      <Loaded query={query} pending={<Skeleton height={56} />}>
        {(channels) => {
          const assigned = channels.filter((channel) => isCovered(channel, monitor));
          if (assigned.length === 0) return <Quiet>No channels.</Quiet>;
          return (
            <ul className={classes['list']}>
              {assigned.map((channel) => (
                <ChannelItem key={channel.id} channel={channel} />
              ))}
            </ul>
          );
        }}
      </Loaded>
    </Panel>
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
        fw={500}
        className={classes['address'] ?? ''}
      >
        {name}
      </TextLink>
      {allMonitors && <Quiet size="xs">All monitors</Quiet>}
      {!enabled && (
        <Text size="xs" className={classes['bad'] ?? ''}>
          <IconAlertTriangle size={13} aria-hidden /> Disabled{disabledReason && `: ${disabledReason}`}
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

export function MaintenancePanel({ monitor }: MonitorProps): ReactNode {
  const query = useQuery(windowsQuery);
  return (
    <Panel title="Maintenance">
      <Loaded query={query} pending={<Skeleton height={56} />}>
        {(all) => {
          const windows = maintenanceOf(monitor, all);
          if (windows.length === 0)
            return (
              <Quiet>
                No maintenance planned.{' '}
                <TextLink
                  to="/maintenance/new"
                  search={{ monitorId: monitor.id }}
                  size="sm"
                  underline="always"
                >
                  Plan a window
                </TextLink>
              </Quiet>
            );
          return (
            <Stack gap="xs">
              <ul className={classes['list']}>
                {windows.slice(0, MAX_WINDOWS).map((window) => (
                  <WindowItem key={window.id} window={window} />
                ))}
              </ul>
              {windows.length > MAX_WINDOWS && (
                <TextLink to="/maintenance" size="sm">
                  {windows.length - MAX_WINDOWS} more
                </TextLink>
              )}
            </Stack>
          );
        }}
      </Loaded>
    </Panel>
  );
}

function WindowItem({ window }: { readonly window: ListedMaintenanceWindow }): ReactNode {
  const { id, name, currentOccurrence, nextOccurrence, rrule } = window;
  const occurrence = currentOccurrence ?? nextOccurrence;
  return (
    <li>
      <TextLink
        to="/maintenance/$windowId"
        params={{ windowId: id }}
        size="sm"
        fw={500}
        className={classes['address'] ?? ''}
      >
        {name}
      </TextLink>
      <Quiet size="xs">
        {currentOccurrence ? 'Running now' : 'Next'}
        {rrule !== null && ', recurring'}
        {occurrence && (
          <>
            : <Time value={occurrence.startsAt} /> to <Time value={occurrence.endsAt} />
          </>
        )}
      </Quiet>
    </li>
  );
}
