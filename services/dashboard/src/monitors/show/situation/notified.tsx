import { useQuery } from '@tanstack/react-query';
import type { Monitor } from '@tocsin/contracts/monitors/monitor';
import type { ReactNode } from 'react';
import { describeAction, describeActor, summarizeChanges } from '../../../audit-log/entries.ts';
import { channelsQuery } from '../../../channels/queries.ts';
import { DELIVERY_LOOKS } from '../../../channels/state-badges.tsx';
import { Quiet, StateBadge, TextLink, Time } from '../../../components/text.tsx';
import { timelineQuery } from '../../../incidents/queries.ts';
import { isCovered } from '../../../labels/coverage.ts';
import { outcomesOf } from './situation-text.ts';
import classes from './situation.module.css';
import { NoChannel } from './warnings.tsx';

const MAX_CHANGES = 5;

interface NotifiedProps {
  readonly monitor: Monitor;
  /** Null: the incident is not known yet, or there is none. */
  readonly incidentId: string | null;
}

/** The channels of a monitor that is down, with the outcome of their alerts. */
export function Notified({ monitor, incidentId }: NotifiedProps): ReactNode {
  const { data: channels } = useQuery(channelsQuery);
  const { data: timeline } = useQuery(timelineQuery(incidentId));
  if (channels === undefined) return null;
  const outcomes = outcomesOf(
    timeline?.entries ?? [],
    channels.filter((channel) => isCovered(channel, monitor)),
  );
  if (outcomes.length === 0) return <NoChannel channels={channels} monitor={monitor} />;
  return (
    <ul className={classes['list']}>
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

interface ChangesProps {
  readonly monitorId: string;
  readonly incidentId: string | null;
}

/** Changes of the monitor and its maintenance since a day before the incident opened, the latest first. */
export function Changes({ monitorId, incidentId }: ChangesProps): ReactNode {
  const { data: timeline } = useQuery(timelineQuery(incidentId));
  const changes = (timeline?.entries ?? []).toReversed().flatMap((entry) => {
    if (entry.kind === 'configuration') {
      const { id, action, actor, changes: fields } = entry.change;
      const what =
        fields.length === 0
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
  return (
    <>
      {changes.length === 0 ? (
        <Quiet>Nothing in the 24 hours before</Quiet>
      ) : (
        <ul className={classes['list']}>
          {changes.slice(0, MAX_CHANGES).map(({ id, timestamp, text }) => (
            <li key={id}>
              {text}, <Time value={timestamp} as="ago" />
            </li>
          ))}
        </ul>
      )}
      <TextLink to="/audit-log" search={{ targetId: monitorId }} size="sm" underline="always">
        Change history
      </TextLink>
    </>
  );
}
