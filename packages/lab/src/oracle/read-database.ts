import type { Queries } from '../stores.ts';
import type { Backlog, DatabaseFacts, UndeliveredFacts } from './record.ts';

/** The relay polls twice a second, so a delivery that has been due for longer than this is overdue. */
const OVERDUE_SECONDS = 5;

function ms(column: string): string {
  return `(extract(epoch from ${column}) * 1000)::float8`;
}

/** Events and incidents of deleted monitors are deleted later. Until then, no API shows them. */
const OF_EXISTING = 'monitor_id in (select id from monitors)';

export type MonitorSelection = { readonly only: readonly string[] } | { readonly without: readonly string[] };

export async function readDatabase(stores: Queries, selection: MonitorSelection): Promise<DatabaseFacts> {
  const [operator, ids] = 'only' in selection ? ['= any', selection.only] : ['<> all', selection.without];
  const read = <Row extends object>(text: string): Promise<Row[]> =>
    stores.query<Row>(text.replace('SELECTED', `${operator}($1::uuid[])`), [ids]);
  const missed = await stores.query<{ key: string }>(
    `select w.name as key from maintenance_occurrences o join maintenance_windows w on w.id = o.window_id
     where o.outcome = 'missed'`,
  );
  return {
    events: await read(
      `select id, monitor_id as "monitorId", ${ms('timestamp')} as timestamp, status, inconclusive, status_code as "statusCode",
         error_reason as "errorReason", latency_ms as "latencyMs", region, source, ${ms('slot')} as slot, url
       from events where ${OF_EXISTING} and monitor_id SELECTED order by timestamp`,
    ),
    statusChanges: await read(
      `select id, monitor_id as "monitorId", from_status as "from", to_status as "to", region,
         ${ms('timestamp')} as timestamp, webhook_events as "webhookEvents", channel_ids as "channelIds"
       from status_changes where monitor_id SELECTED order by timestamp, id`,
    ),
    deliveries: await read(
      `select id, channel_id as "channelId", status_change_id as "statusChangeId", monitor_id as "monitorId", event,
         payload, state, attempt_count as "attemptCount",
         (select count(*)::int from attempts a where a.delivery_id = d.id) as attempts
       from deliveries d where monitor_id SELECTED`,
    ),
    incidents: await read(
      `select monitor_id as "monitorId", ${ms('opened_at')} as "openedAt", ${ms('resolved_at')} as "resolvedAt"
       from incidents where ${OF_EXISTING} and monitor_id SELECTED`,
    ),
    backlog: await readBacklog(stores),
    missedWindows: missed.map(({ key }) => key),
    monitors: await read(
      `select id, name, failure_threshold as "failureThreshold", status, labels from monitors where id SELECTED`,
    ),
    channels: await read(
      // Channels that select everything have no stored matches.
      `select c.id, case when not (c.all_monitors or c.selector <@ '{"matchLabels": {}, "matchExpressions": []}')
           then c.selector end as selector,
         array(select a.monitor_id::text from channel_monitors a
         where a.channel_id = c.id and a.matched and a.monitor_id SELECTED) as "matchedIds"
       from channels c`,
    ),
  };
}

export async function readBacklog(stores: Queries): Promise<Backlog> {
  const [row] = await stores.query<Backlog>(
    `select (select count(*)::int from status_changes where dispatched_at is null) as undispatched,
       (select count(*)::int from deliveries
        where state = 'pending' and coalesce(next_attempt_at, '-infinity') < now() - make_interval(secs => $1)
          and (leased_until is null or leased_until < now() - make_interval(secs => $1))) as overdue`,
    [OVERDUE_SECONDS],
  );
  if (row === undefined) throw new TypeError('a count has a row');
  return row;
}

export async function readUndelivered(stores: Queries): Promise<UndeliveredFacts[]> {
  return stores.query(
    `select d.id, d.channel_id as "channelId", c.enabled as "isChannelEnabled", d.state,
       d.round_attempt_count as attempts, ${ms('next_attempt_at - now()')} as "dueInMs"
     from deliveries d join channels c on c.id = d.channel_id where d.state <> 'delivered'`,
  );
}

/** True if nothing waits to be fanned out, and no attempt is due or running. */
export async function isQuiet(stores: Queries): Promise<boolean> {
  const rows = await stores.query(
    `select from status_changes where dispatched_at is null
     union all
     select from deliveries where state = 'pending' and (next_attempt_at <= now() or leased_until > now())`,
  );
  return rows.length === 0;
}
