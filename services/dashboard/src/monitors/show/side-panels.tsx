import { Group, Skeleton, Stack, Text } from '@mantine/core';
import { IconAlertTriangle, IconBellOff, IconCircleCheck, IconFlame } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import type { Channel } from '@tocsin/contracts/channels/channel';
import type { Incident } from '@tocsin/contracts/incidents/incident';
import type { ListedMaintenanceWindow } from '@tocsin/contracts/maintenance-windows/maintenance-window';
import type { ReactNode } from 'react';
import { describeCause, formatSpan } from '../../components/format.ts';
import { TextLink } from '../../components/links.tsx';
import { Loaded } from '../../components/load-states.tsx';
import { Panel } from '../../components/page.tsx';
import { Time, useNow } from '../../components/time.tsx';
import { allChannelsQuery, allWindowsQuery, monitorIncidentsQuery, MAX_INCIDENTS } from '../queries.ts';
import { maintenanceOf } from './figures.ts';
import classes from './show.module.css';

/** When the monitor was down, latest first. */
export function IncidentsPanel({ monitorId }: { readonly monitorId: string }): ReactNode {
  const query = useQuery(monitorIncidentsQuery(monitorId));
  return (
    <Panel title="Incidents">
      <Loaded query={query} pending={<Skeleton height={56} />}>
        {(incidents) =>
          incidents.length === 0 ? (
            <Text size="sm" c="var(--text-quiet)">
              None: it has not been down.
            </Text>
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
  const { openedAt, resolvedAt, durationSeconds, cause, region } = incident;
  const open = resolvedAt === null;
  const now = useNow(open);
  const seconds = open ? (now - Date.parse(openedAt)) / 1_000 : durationSeconds;
  return (
    <li>
      <Group justify="space-between" gap="xs" wrap="nowrap">
        <Group gap={6} wrap="nowrap" className={classes[open ? 'bad' : 'quiet'] ?? ''}>
          {open ? <IconFlame size={16} aria-hidden /> : <IconCircleCheck size={16} aria-hidden />}
          <Text span size="sm" fw={600}>
            {open ? 'Open' : 'Resolved'}
          </Text>
        </Group>
        <Text span size="sm" className="tabular">
          {formatSpan(seconds)}
        </Text>
      </Group>
      <Text size="sm">
        {describeCause(cause)}, from {region}
      </Text>
      <Text size="xs" c="var(--text-quiet)">
        <Time value={openedAt} />
        {resolvedAt !== null && (
          <>
            {' '}
            to <Time value={resolvedAt} />
          </>
        )}
      </Text>
    </li>
  );
}

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

const MOST_SHOWN = 5;

/** The maintenance windows that silence the monitor now or next. */
export function MaintenancePanel({ monitorId }: { readonly monitorId: string }): ReactNode {
  const query = useQuery(allWindowsQuery);
  return (
    <Panel title="Maintenance">
      <Loaded query={query} pending={<Skeleton height={56} />}>
        {(all) => {
          const windows = maintenanceOf(monitorId, all);
          return windows.length === 0 ? (
            <NothingPlanned monitorId={monitorId} />
          ) : (
            <Windows windows={windows} />
          );
        }}
      </Loaded>
    </Panel>
  );
}

function NothingPlanned({ monitorId }: { readonly monitorId: string }): ReactNode {
  return (
    <Text size="sm" component="div" c="var(--text-quiet)">
      Nothing is planned.{' '}
      <TextLink to="/maintenance/new" search={{ monitorId }} size="sm" underline="always">
        Plan a window
      </TextLink>
    </Text>
  );
}

function Windows({ windows }: { readonly windows: readonly ListedMaintenanceWindow[] }): ReactNode {
  return (
    <Stack gap="xs">
      <ul className={classes['list']}>
        {windows.slice(0, MOST_SHOWN).map((window) => (
          <WindowItem key={window.id} window={window} />
        ))}
      </ul>
      {windows.length > MOST_SHOWN && (
        <TextLink to="/maintenance" size="sm">
          {windows.length - MOST_SHOWN} more
        </TextLink>
      )}
    </Stack>
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
        fw={600}
        className={classes['address'] ?? ''}
      >
        {name}
      </TextLink>
      <Text size="xs" c="var(--text-quiet)">
        {currentOccurrence ? 'Runs now' : 'Next'}
        {rrule !== null && ', recurring'}
        {occurrence && (
          <>
            : <Time value={occurrence.startsAt} /> to <Time value={occurrence.endsAt} />
          </>
        )}
      </Text>
    </li>
  );
}
