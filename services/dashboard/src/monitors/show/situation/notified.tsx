import { Skeleton } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import type { Channel } from '@tocsin/contracts/channels/channel';
import type { TimelineEntry } from '@tocsin/contracts/incidents/timeline';
import type { Monitor } from '@tocsin/contracts/monitors/monitor';
import type { ReactNode } from 'react';
import { describeAction, describeActor, summarizeChanges } from '../../../audit-log/entries.ts';
import { channelsQuery } from '../../../channels/queries.ts';
import { DELIVERY_LOOKS } from '../../../channels/state-badges.tsx';
import { Loaded } from '../../../components/load-states.tsx';
import { Quiet, StateBadge, TextLink, Time } from '../../../components/text.tsx';
import { timelineQuery } from '../../../incidents/queries.ts';
import { isCovered } from '../../../labels/coverage.ts';
import { outcomesOf } from './situation-text.ts';
import classes from './situation.module.css';
import { NoChannel } from './warnings.tsx';

const MAX_CHANGES = 5;
/** In pixels. */
const LINE_HEIGHT = 21;

interface IncidentProps {
  /** Undefined while loading, null if there is no incident. */
  readonly incidentId: string | null | undefined;
}

interface NotifiedProps extends IncidentProps {
  readonly monitor: Monitor;
}

/** Shows the channels of a monitor that is down, with the outcome of their alerts. */
export function Notified({ monitor, incidentId }: NotifiedProps): ReactNode {
  const { data: channels } = useQuery(channelsQuery);
  if (channels === undefined) return <Skeleton height={LINE_HEIGHT} />;
  return (
    <Timeline incidentId={incidentId}>
      {(entries) => <Outcomes entries={entries} channels={channels} monitor={monitor} />}
    </Timeline>
  );
}

interface TimelineProps extends IncidentProps {
  readonly children: (entries: readonly TimelineEntry[]) => ReactNode;
}

function Timeline({ incidentId, children }: TimelineProps): ReactNode {
  const query = useQuery(timelineQuery(incidentId ?? null));
  if (incidentId === null) return children([]);
  return (
    <Loaded query={query} pending={<Skeleton height={LINE_HEIGHT} />}>
      {({ entries }) => children(entries)}
    </Loaded>
  );
}

interface OutcomesProps {
  readonly entries: readonly TimelineEntry[];
  readonly channels: readonly Channel[];
  readonly monitor: Monitor;
}

function Outcomes({ entries, channels, monitor }: OutcomesProps): ReactNode {
  const outcomes = outcomesOf(
    entries,
    channels.filter((channel) => isCovered(channel, monitor)),
  );
  if (outcomes.length === 0) return <NoChannel channels={channels} monitor={monitor} />;
  return (
    <ul className={`plain-list ${classes['list'] ?? ''}`}>
      {outcomes.map(({ channelId, name, state, detail }) => (
        <li key={channelId}>
          <TextLink to="/channels/$channelId" params={{ channelId }} size="sm">
            {name}
          </TextLink>{' '}
          {state !== 'none' && <StateBadge look={DELIVERY_LOOKS[state]} />}{' '}
          {detail !== null && <Quiet inline>{detail}</Quiet>}
        </li>
      ))}
    </ul>
  );
}

interface ChangesProps extends IncidentProps {
  readonly monitorId: string;
}

/** Changes of the monitor and its maintenance since one day before the incident, latest first. */
export function Changes({ monitorId, incidentId }: ChangesProps): ReactNode {
  return (
    <>
      <Timeline incidentId={incidentId}>{(entries) => <ChangeList entries={entries} />}</Timeline>
      <TextLink to="/audit-log" search={{ targetId: monitorId }} size="sm" underline="always">
        Change history
      </TextLink>
    </>
  );
}

function ChangeList({ entries }: { readonly entries: readonly TimelineEntry[] }): ReactNode {
  const changes = entries.toReversed().flatMap((entry) => {
    if (entry.kind === 'configuration') {
      const { id, action, actor, changes: fields } = entry.change;
      const what =
        fields.length === 0 || action === 'monitor.created'
          ? describeAction(action)
          : `${describeAction(action)}, ${summarizeChanges(fields)}`;
      return [{ id, timestamp: entry.timestamp, text: `${what}, by ${describeActor(actor)}` }];
    }
    if (entry.kind !== 'maintenance') return [];
    const { windowId, name } = entry.maintenance;
    return [
      { id: `${windowId} ${entry.timestamp}`, timestamp: entry.timestamp, text: `Maintenance: ${name}` },
    ];
  });
  // There is nothing to say without an incident.
  if (entries.length === 0) return null;
  if (changes.length === 0) return <Quiet>Nothing in the 24 hours before</Quiet>;
  return (
    <ul className={`plain-list ${classes['list'] ?? ''}`}>
      {changes.slice(0, MAX_CHANGES).map(({ id, timestamp, text }) => (
        <li key={id}>
          {text}, <Time value={timestamp} as="ago" />
        </li>
      ))}
    </ul>
  );
}
