import { Group, Skeleton, Stack, Text } from '@mantine/core';
import { IconAlertTriangle, IconCircleCheck, IconFlame } from '@tabler/icons-react';
import { useQuery, type UseQueryResult } from '@tanstack/react-query';
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
import { useCan } from '../../session/session.ts';

const MAX_WINDOWS = 5;

interface ListPanelProps<Item> {
  readonly title: string;
  readonly query: UseQueryResult<Item[]>;
  /** Selects the items of the monitor. */
  readonly select?: (items: readonly Item[]) => readonly Item[];
  /** Shown without items. */
  readonly none: ReactNode;
  readonly item: (item: Item) => ReactNode;
  readonly more?: (items: readonly Item[]) => ReactNode;
}

function ListPanel<Item>({ title, query, select, none, item, more }: ListPanelProps<Item>): ReactNode {
  return (
    <Panel title={title}>
      <Loaded query={query} pending={<Skeleton height={56} />}>
        {(all) => {
          const items = select?.(all) ?? all;
          if (items.length === 0) return <Quiet>{none}</Quiet>;
          return (
            <>
              <Stack component="ul" className="plain-list">
                {items.map(item)}
              </Stack>
              {more?.(items)}
            </>
          );
        }}
      </Loaded>
    </Panel>
  );
}

export function IncidentsPanel({ monitorId }: { readonly monitorId: string }): ReactNode {
  return (
    <ListPanel
      title="Incidents"
      query={useQuery(monitorIncidentsQuery(monitorId))}
      none="No incidents yet."
      item={(incident) => <IncidentItem key={incident.id} incident={incident} />}
      more={({ length }) =>
        length === MAX_INCIDENTS && (
          <TextLink to="/incidents" search={{ monitorId }} size="sm">
            All incidents
          </TextLink>
        )
      }
    />
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
        <Group gap={6} wrap="nowrap" c={isOpen ? 'var(--status-down)' : 'dimmed'}>
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

export function ChannelsPanel({ monitor }: { readonly monitor: Monitor }): ReactNode {
  return (
    <ListPanel
      title="Channels"
      query={useQuery(channelsQuery)}
      select={(channels) => channels.filter((channel) => isCovered(channel, monitor))}
      none="No channels."
      item={(channel) => <ChannelItem key={channel.id} channel={channel} />}
    />
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
        style={{ overflowWrap: 'anywhere' }}
      >
        {name}
      </TextLink>
      {allMonitors && <Quiet size="xs">All monitors</Quiet>}
      {!enabled && (
        <Text size="xs" c="var(--status-down)">
          <IconAlertTriangle size={13} aria-hidden /> Disabled{disabledReason && `: ${disabledReason}`}
        </Text>
      )}
      {enabled && failingSince !== null && (
        <Text size="xs" c="var(--warning)">
          <IconAlertTriangle size={13} aria-hidden /> Failing since <Time value={failingSince} />
        </Text>
      )}
    </li>
  );
}

export function MaintenancePanel({ monitor }: { readonly monitor: Monitor }): ReactNode {
  const query = useQuery(windowsQuery);
  const can = useCan();
  const hidden = maintenanceOf(monitor, query.data ?? []).length - MAX_WINDOWS;
  return (
    <ListPanel
      title="Maintenance"
      query={query}
      select={(windows) => maintenanceOf(monitor, windows).slice(0, MAX_WINDOWS)}
      none={
        <>
          No maintenance planned.{' '}
          {can.change && (
            <TextLink to="/maintenance/new" search={{ monitorId: monitor.id }} size="sm" underline="always">
              Plan a window
            </TextLink>
          )}
        </>
      }
      item={(window) => <WindowItem key={window.id} window={window} />}
      more={() =>
        hidden > 0 && (
          <TextLink to="/maintenance" size="sm" mt="xs" display="block">
            {hidden} more
          </TextLink>
        )
      }
    />
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
        style={{ overflowWrap: 'anywhere' }}
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
