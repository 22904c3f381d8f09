import { MAX_ATTEMPT_LIMIT, OVERLOADED_STATUS_CODES } from '@tocsin/core/deliveries/attempt-limit';
import { LONGEST_DELAYS_SECONDS, MAX_RETRY_AFTER_SECONDS } from '@tocsin/core/deliveries/retry-schedule';
import { sql, type SQL } from 'drizzle-orm';
import type { Database, Transaction } from '../database/open.ts';
import { PREPARE } from '../database/preparing-client.ts';
import { arrayOf, clockNow, preferIndexes } from '../database/sql.ts';
import { channelsWithPending, takesAttempts } from './next-deliveries.ts';
import { channelIf } from './table.ts';

/** Retries of a channel that one success makes due, which is the number that may run at the same time. Each success among these does the same. */
const MAX_ADVANCED = MAX_ATTEMPT_LIMIT;
/** Maximum changes per statement. The next run continues. */
const MAX_BATCH_SIZE = 1_000;
/** Maximum channels to probe in one run. A notifier attempts them before its next run, even if all receivers hang. */
const MAX_PROBES = 100;
/** A channel whose attempts all fail gets another attempt this long after its last one. */
const PROBE_AFTER = sql`interval '1 minute'`;

/** Longest delay that the schedule can have given to retry `d`. */
const longestDelay = sql`make_interval(secs =>
  (array[${sql.raw(LONGEST_DELAYS_SECONDS.join(', '))}]::float8[])[least(d.round_attempt_count, ${sql.raw(String(LONGEST_DELAYS_SECONDS.length))})])`;

/** Condition that retry `d` waits only for its schedule. One that is further away waits because of its `Retry-After`. */
const waitsForSchedule = sql`d.next_attempt_at > now() and d.next_attempt_at <= now() + ${longestDelay}`;

/** Selects the retries of channel `c` that come next. */
const nextRetries = sql`(
  select r.id, r.next_attempt_at, r.round_attempt_count, r.attempt_count from deliveries r
  where ${channelIf('repeated', 'r')} = c.id order by r.next_attempt_at, r.id limit ${sql.raw(String(MAX_ADVANCED))})`;

/** Makes deliveries due, except those that another transaction has locked, because an attempt or a request is changing them. */
function makeDue(ids: SQL, dueAt: SQL = clockNow): SQL {
  return sql`${PREPARE}
    update deliveries set next_attempt_at = ${dueAt}
    where id = any(array(
      select id from deliveries where id = any(array(${ids})) and state = 'pending' for no key update skip locked))`;
}

/** Selects the next retries of channels that wait only for their schedule. */
function waitingOf(channelIds: readonly string[]): SQL {
  return sql`
    select d.id from channels c cross join lateral ${nextRetries} d
    where c.id = any(${arrayOf('uuid', channelIds)}) and ${waitsForSchedule}`;
}

/**
 * Brings forward the next retries of channels with a success. They become due now if the receiver works again. Otherwise the receiver may
 * have refused them for good, so only retries without a response become due, within a minute. @param working channels with a successful
 * retry, or a success after a minute of failures
 */
export async function advanceRetries(
  tx: Transaction,
  channelIds: ReadonlySet<string>,
  working: ReadonlySet<string | null>,
): Promise<void> {
  const [now, soon] = [true, false].map((works) => [...channelIds].filter((id) => working.has(id) === works));
  if (now?.length) await tx.execute(makeDue(waitingOf(now)));
  if (!soon?.length) return;
  const inAMinute = sql`${clockNow} + ${PROBE_AFTER}`;
  const gotNoResponse = sql`not exists (
    select from attempts a where a.delivery_id = d.id and a.number = d.attempt_count
      and a.status_code <> all(${arrayOf('int', [...OVERLOADED_STATUS_CODES])}))`;
  await tx.execute(
    makeDue(sql`${waitingOf(soon)} and d.next_attempt_at > ${inAMinute} and ${gotNoResponse}`, inAMinute),
  );
}

/**
 * Makes one retry due in each channel whose attempts all fail, a minute after its last attempt. It takes the next retry each time, so that a
 * delivery that always fails does not hide the others. Accounts take turns. A last failure in the future was recorded before the clock was
 * set back.
 */
export async function probeFailingChannels(db: Database): Promise<void> {
  await db.transaction(async (tx) => {
    await preferIndexes(tx);
    await tx.execute(
      makeDue(sql`
        select p.id from (
          select c.id, row_number() over (partition by c.account_id order by c.last_failed_at) as number from channels c
          where c.failing_since is not null and ${takesAttempts} and c.deleted_at is null
            and (c.last_failed_at <= now() - ${PROBE_AFTER} or c.last_failed_at > now())
          order by number) c
        cross join lateral (
          select d.id, d.next_attempt_at from ${nextRetries} d
          where d.next_attempt_at <= now() or (${waitsForSchedule})
          order by d.next_attempt_at, d.id limit 1) p
        where p.next_attempt_at > now() order by c.number limit ${MAX_PROBES}`),
    );
  });
}

/** Makes deliveries due whose attempt is further away than any planned one, because PostgreSQL's clock was set back. */
export async function correctFarAttempts(db: Database): Promise<void> {
  await db.transaction(async (tx) => {
    await preferIndexes(tx);
    await tx.execute(
      makeDue(sql`
        select d.id from ${channelsWithPending} c cross join lateral (
          select f.* from deliveries f where ${channelIf('pending', 'f')} = c.id and f.next_attempt_at > now()
          order by f.next_attempt_at desc, f.id desc limit ${MAX_BATCH_SIZE}) d
        where d.round_attempt_count = 0
          or d.next_attempt_at > now() + greatest(${longestDelay}, make_interval(secs => ${MAX_RETRY_AFTER_SECONDS}))
        limit ${MAX_BATCH_SIZE}`),
    );
  });
}
