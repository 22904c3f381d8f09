import { systemActor } from '@tocsin/db/audit-log/actor';
import { createChannel, disableExhaustedChannels } from '@tocsin/db/channels/write-channels';
import { recordChecks } from '@tocsin/db/checks/record-checks';
import type { Database } from '@tocsin/db/database/open';
import { claimDeliveries, type ClaimedDelivery } from '@tocsin/db/deliveries/claim-deliveries';
import { type AttemptOutcome, type AttemptRecord, recordAttempt } from '@tocsin/db/deliveries/record-attempt';
import { redeliverUndelivered } from '@tocsin/db/deliveries/redeliver';
import { type AttemptRow, attempts, deliveries, type DeliveryRow } from '@tocsin/db/deliveries/table';
import { dispatchStatusChanges } from '@tocsin/db/status-changes/dispatch-status-changes';
import { and, asc, eq, sql } from 'drizzle-orm';
import { checkOf, failureOf, type TestContext } from './harness.ts';

/** Makes a channel of the test's account, by default for all monitors. */
export async function makeChannel(context: TestContext, monitorIds?: readonly string[]): Promise<string> {
  const channel = await createChannel(context, context.actor, {
    name: 'ops',
    url: 'https://hooks.example/a',
    monitorIds: monitorIds ?? [],
    allMonitors: monitorIds === undefined,
  });
  return channel.id;
}

/** Takes the monitor down or up, so that its two webhook events are due. @returns the id of the status change */
export async function changeStatus(
  context: TestContext,
  monitorId: string,
  to: 'UP' | 'DOWN',
): Promise<string> {
  const check = to === 'DOWN' ? failureOf(monitorId) : checkOf(monitorId);
  const [outcome] = await recordChecks(context.db, [check]);
  if (outcome?.kind !== 'recorded' || outcome.statusChangeId === null) throw new Error('no status change');
  return outcome.statusChangeId;
}

/** Like `changeStatus`, but also makes the deliveries. @returns the ids of pending ones */
export async function alertOf(context: TestContext, monitorId: string, to: 'UP' | 'DOWN'): Promise<string[]> {
  const statusChangeId = await changeStatus(context, monitorId, to);
  await dispatchStatusChanges(context.db, { limit: 100 });
  const isMade = and(eq(deliveries.statusChangeId, statusChangeId), eq(deliveries.state, 'pending'));
  const made = await context.db.select().from(deliveries).where(isMade).orderBy(deliveries.timestamp);
  return made.map(({ id }) => id);
}

/** Claims the only delivery that may be attempted now. */
export async function claimOne(context: TestContext): Promise<ClaimedDelivery> {
  const [claimed, ...others] = await claimDeliveries(context, { limit: 100 });
  if (!claimed || others.length > 0) throw new Error(`${others.length + (claimed ? 1 : 0)} claimed`);
  return claimed;
}

/** Makes an attempt with this outcome. @param statusCode of a failure */
export function attemptOf(
  delivery: ClaimedDelivery,
  outcome: AttemptOutcome,
  statusCode = 500,
): AttemptRecord {
  return {
    deliveryId: delivery.id,
    leaseToken: delivery.leaseToken,
    channelId: delivery.channelId,
    url: delivery.url,
    test: delivery.test,
    startedAt: new Date(),
    durationMs: 20,
    statusCode: outcome.kind === 'delivered' ? 200 : statusCode,
    error: outcome.kind === 'delivered' ? null : `responded with ${statusCode}`,
    responseExcerpt: null,
    outcome,
    attemptLimit: delivery.attemptLimit,
    nextAttemptLimit: delivery.attemptLimit,
    pauseMs: 0,
  };
}

/** Records the outcome of an attempt. @param statusCode of a failure */
export async function recordOutcome(
  context: TestContext,
  delivery: ClaimedDelivery,
  outcome: AttemptOutcome,
  statusCode = 500,
): Promise<string | null> {
  return recordAttempt(context.db, attemptOf(delivery, outcome, statusCode));
}

/** Redelivers all undelivered deliveries in a time range. @returns their ids */
export async function redeliverAll(
  context: TestContext,
  channelId: string,
  range = { since: new Date(0), until: new Date('2100-01-01') },
): Promise<string[]> {
  const ids: string[] = [];
  const slices = redeliverUndelivered(context.db, context.actor, channelId, range);
  for await (const released of slices) ids.push(...released.ids);
  return ids;
}

/** Disables the channels that have failed for 72 hours. @returns their ids */
export async function disableExhausted({ db }: Pick<TestContext, 'db'>): Promise<string[]> {
  const ids: string[] = [];
  await disableExhaustedChannels(db, (id) => ids.push(id));
  return ids;
}

/** Ends every lease, as if the notifiers that held them had been killed. */
export async function endLeases(context: TestContext): Promise<void> {
  await context.db.execute(
    sql`update deliveries set leased_until = now() - interval '1 second' where leased_until is not null`,
  );
}

/** Makes a second, empty account. */
export async function makeAccount(context: TestContext): Promise<string> {
  const { rows } = await context.db.execute<{ id: string }>(
    sql`insert into accounts (id, name) values (gen_random_uuid(), 'Other') returning id`,
  );
  if (!rows[0]) throw new Error('no account');
  return rows[0].id;
}

/** Makes a second account, for which the steps act with the returned context. */
export async function withOtherAccount(context: TestContext): Promise<TestContext> {
  const accountId = await makeAccount(context);
  return { ...context, accountId, actor: systemActor(accountId) };
}

/** Inserts deliveries to a channel, each for another monitor, with their numbers as payloads. Pending ones are due. */
export async function addDeliveries(
  { db, accountId }: TestContext,
  channelId: string,
  count: number,
  state: 'pending' | 'held' = 'pending',
): Promise<void> {
  await db.execute(sql`
    insert into deliveries (id, account_id, channel_id, status_change_id, monitor_id, event, timestamp, payload, state,
      next_attempt_at)
    select gen_random_uuid(), ${accountId}, ${channelId}, gen_random_uuid(), gen_random_uuid(), 'monitor.down',
      now() + i * interval '1 s', i, ${state}, case when ${state} = 'pending' then now() end
    from generate_series(1, ${count}::int) i`);
}

type DeliveryLog = DeliveryRow & { readonly attempts: readonly AttemptRow[] };

/** Reads a channel's deliveries with their attempts, in the order of the events' timestamps. */
export async function readDeliveryLog(db: Database, channelId: string): Promise<DeliveryLog[]> {
  const rows = await db
    .select()
    .from(deliveries)
    .leftJoin(attempts, eq(attempts.deliveryId, deliveries.id))
    .where(eq(deliveries.channelId, channelId))
    .orderBy(asc(deliveries.timestamp), asc(deliveries.id), asc(attempts.number));
  const log = new Map<string, DeliveryRow & { attempts: AttemptRow[] }>();
  for (const row of rows) {
    const entry = log.get(row.deliveries.id) ?? { ...row.deliveries, attempts: [] };
    if (row.attempts) entry.attempts.push(row.attempts);
    log.set(row.deliveries.id, entry);
  }
  return [...log.values()];
}
