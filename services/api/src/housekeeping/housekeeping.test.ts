import { afterAll, describe, expect, jest, test } from '@jest/globals';
import { userActor } from '@tocsin/db/audit-log/actor';
import { ensureRollupPartition } from '@tocsin/db/check-rollups/partitions';
import { listPartitions } from '@tocsin/db/database/partitions';
import { scheduleSpans } from '@tocsin/db/monitor-regions/table';
import { findMonitorRow } from '@tocsin/db/monitors/monitor-row';
import { createTrigger } from '@tocsin/db/triggers/triggers';
import { createInvitation } from '@tocsin/db/users/invitations';
import { until } from '@tocsin/embedded/testing/until';
import { createSilentLogger } from '@tocsin/runtime/logger';
import { commitMonitor } from '../testing/schedules.ts';
import { newSignedInUser } from '../testing/sign-in.ts';
import { useTestApi } from '../testing/test-api.ts';
import { DatabaseClock } from './database-clock.ts';
import { runMaintenanceTasks, startHousekeeping } from './housekeeping.ts';

const DAY_MS = 86_400_000;
const trueNow = Date.now.bind(Date);
/** The clock starts at noon, so that no day or month ends during the tests. */
const shiftMs = (Math.floor(trueNow() / DAY_MS) + 0.5) * DAY_MS - trueNow();
const clock = jest.spyOn(Date, 'now').mockImplementation(() => trueNow() + shiftMs);

const api = await useTestApi();
const logger = createSilentLogger();
const databaseClock = new DatabaseClock({
  readClock: async () => trueNow() + shiftMs,
  // These tests roll up nothing.
  readState: async () => null,
  writeDoubt: async () => undefined,
  logger,
});
const options = { db: api.context.db, databaseClock, retentionDays: 90, isLeader: () => true, logger };
afterAll(() => clock.mockRestore());

const nameOf = (daysFromNow: number): string =>
  `events_${new Date(Date.now() + daysFromNow * DAY_MS).toISOString().slice(0, 10).replaceAll('-', '_')}`;

async function partitions(): Promise<string[]> {
  const { rows } = await api.database.pool.query<{ name: string }>(
    `select inhrelid::regclass::text as name from pg_inherits where inhparent = 'events'::regclass`,
  );
  return rows.map(({ name }) => name);
}

async function addPartition(daysFromNow: number, name = nameOf(daysFromNow)): Promise<void> {
  const day = (days: number): string => nameOf(days).slice(7).replaceAll('_', '-');
  await api.database.pool.query(
    `create table ${name} partition of events
     for values from ('${day(daysFromNow)}') to ('${day(daysFromNow + 1)}')`,
  );
}

/** Records that every hour is rolled up until this hour of a day. */
async function rolledUpUntil(daysFromNow: number, hours = 1): Promise<void> {
  await api.database.pool.query(
    `insert into check_rollup_state (rolled_until) values ($1)
     on conflict (singleton) do update set rolled_until = excluded.rolled_until`,
    [new Date(dayOf(daysFromNow).getTime() + hours * 3_600_000)],
  );
}

const dayOf = (daysFromNow: number): Date => new Date(Math.floor(Date.now() / DAY_MS + daysFromNow) * DAY_MS);

describe('housekeeping', () => {
  test('creates the partitions of the coming week, and drops only its own beyond the retention', async () => {
    await api.database.pool.query(`drop table ${nameOf(5)}`);
    for (const days of [-91, -90]) await addPartition(days);
    // An operator may have added a partition under another name.
    await addPartition(-600, 'archived_events');
    await rolledUpUntil(-90);
    await runMaintenanceTasks(options);
    const names = await partitions();
    const kept = [nameOf(-90), nameOf(0), nameOf(5), nameOf(7), 'archived_events'];
    expect(names).toEqual(expect.arrayContaining(kept));
    expect(names).not.toContain(nameOf(-91));
    await api.database.pool.query('drop table archived_events');
  });

  test.each([
    ['100 days ahead of', 100 * DAY_MS],
    ['61 s behind', -61_000],
  ])('deletes and packs nothing while this process is %s the clock of Postgres', async (_what, aheadMs) => {
    for (const days of [-92, -29]) await addPartition(days);
    await rolledUpUntil(30);
    const { id } = await commitMonitor(api);
    const row = await findMonitorRow(api.context.db, api.account.id, id);
    await createTrigger(api.context.db, row, null, 5_000);
    await api.database.pool.query(`update triggers set created_at = now() - interval '61 minutes'`);
    const triggers = async (): Promise<number | null> =>
      (await api.database.pool.query('select from triggers')).rowCount;
    clock.mockImplementation(() => trueNow() + shiftMs + aheadMs);
    try {
      await runMaintenanceTasks(options);
    } finally {
      clock.mockImplementation(() => trueNow() + shiftMs);
    }
    expect(await partitions()).toEqual(expect.arrayContaining([nameOf(-92), nameOf(-29), nameOf(7)]));
    expect(await triggers()).toBe(1);
    await runMaintenanceTasks(options);
    expect(await triggers()).toBe(0);
    const names = await partitions();
    expect([names.includes(nameOf(-92)), names.includes(nameOf(-29))]).toEqual([false, false]);
    const packed = nameOf(-29).replace('events', 'event_blocks');
    expect([...(await listPartitions(api.context.db, 'event_blocks'))]).toContain(packed);
    await api.database.pool.query(`drop table ${packed}`);
  });

  test('keeps a day of events, however old, until its checks are rolled up', async () => {
    for (const days of [-96, -95]) await addPartition(days);
    await api.database.pool.query('delete from check_rollup_state');
    await runMaintenanceTasks(options);
    await rolledUpUntil(-95, 0);
    await runMaintenanceTasks(options);
    expect(await partitions()).toContain(nameOf(-96));
    await rolledUpUntil(-95, 1);
    await runMaintenanceTasks(options);
    expect(await partitions()).not.toContain(nameOf(-96));
    expect(await partitions()).toContain(nameOf(-95));
  });

  test('drops rollups and ended spans older than thirteen months', async () => {
    const { db } = api.context;
    const monthsAgo = (months: number): Date => {
      const now = new Date(Date.now());
      return new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() - months));
    };
    for (const months of [14, 13, 0]) await ensureRollupPartition(db, monthsAgo(months));
    const { id: monitorId } = await commitMonitor(api);
    for (const [region, endsAt] of [
      ['old', new Date(monthsAgo(13).getTime() - 1)],
      ['recent', monthsAgo(13)],
    ] as const) {
      const span = { monitorId, region, startsAt: monthsAgo(20), endsAt, intervalSeconds: 60, offsetMs: 1 };
      await db.insert(scheduleSpans).values(span);
    }
    // As in a monitor of an earlier version.
    const former = await commitMonitor(api);
    await api.database.pool.query('delete from schedule_spans where monitor_id = $1', [former.id]);
    await runMaintenanceTasks(options);
    const name = (months: number): string =>
      `check_rollups_${monthsAgo(months).toISOString().slice(0, 7).replace('-', '_')}`;
    expect([...(await listPartitions(db, 'check_rollups'))].sort()).toEqual([name(13), name(0)].sort());
    const spans = await db.select().from(scheduleSpans);
    const regionsOf = (id: string): string[] =>
      spans.filter((span) => span.monitorId === id).map(({ region }) => region);
    expect([regionsOf(monitorId), regionsOf(former.id)]).toEqual([['default', 'recent'], ['default']]);
  });

  test('deletes expired triggers and sessions, and invitations a month after they expired', async () => {
    const kept = await newSignedInUser(api);
    const gone = await newSignedInUser(api);
    const { db } = api.context;
    const { pool } = api.database;
    const row = await findMonitorRow(db, api.account.id, (await commitMonitor(api)).id);
    const old = await createTrigger(db, row, null, 5_000);
    const fresh = await createTrigger(db, row, null, 5_000);
    const expire = `update triggers set created_at = now() - interval '61 minutes' where id = $1`;
    await pool.query(expire, [old.id]);
    await pool.query(`update sessions set expires_at = now() where user_id = $1`, [gone.id]);
    await pool.query(
      `insert into verifications (id, identifier, value, expires_at)
       values (gen_random_uuid(), 'old', '', now()), (gen_random_uuid(), 'new', '', now() + interval '1 minute')`,
    );
    const actor = userActor(api.account.id, kept.id, 'Kept');
    for (const [email, days] of [
      ['old@example.com', 31],
      ['recent@example.com', 29],
    ] as const) {
      await createInvitation(db, actor, { role: 'member', email });
      const since = `update invitations set expires_at = now() - $1 * interval '1 day' where email = $2`;
      await pool.query(since, [days, email]);
    }
    await runMaintenanceTasks(options);
    const { rows } = await pool.query(
      `select user_id::text as left from sessions union select identifier from verifications
       union select email from invitations union select id::text from triggers`,
    );
    expect(rows.map(({ left }: { left: string }) => left).sort()).toEqual(
      [kept.id, fresh.id, 'new', 'recent@example.com'].sort(),
    );
  });

  test('deletes any number of rows, a thousand per statement', async () => {
    const { pool } = api.database;
    await pool.query(`
      create function refuse_many() returns trigger language plpgsql as $$ begin
        if (select count(*) from deleted) > 1000 then raise exception 'too many rows at once'; end if;
        return null;
      end $$`);
    const { id } = await commitMonitor(api);
    for (const [table, insert] of [
      [
        'triggers',
        `insert into triggers (id, monitor_id, region, not_after, created_at)
         select gen_random_uuid(), '${id}', 'default', now(), now() - interval '2 hours' from generate_series(1, 1001)`,
      ],
      [
        'idempotency_keys',
        `insert into idempotency_keys (account_id, key, request_hash, answer, created_at)
         select '${api.account.id}', i::text, '', '{}', now() - interval '2 days' from generate_series(1, 1001) i`,
      ],
    ] as const) {
      await pool.query(`delete from ${table}`);
      await pool.query(insert);
      await pool.query(
        `create trigger few after delete on ${table} referencing old table as deleted
         for each statement execute function refuse_many()`,
      );
      await runMaintenanceTasks(options);
      expect((await pool.query(`select from ${table}`)).rowCount).toBe(0);
    }
  });

  test('runs the other tasks if one fails, and reports it even if it is stopped afterwards', async () => {
    const { pool } = api.database;
    await pool.query(`
      create function refuse() returns trigger language plpgsql as $$ begin raise exception 'refused'; end $$`);
    await pool.query(
      'create trigger refuse before delete on sessions for each statement execute function refuse()',
    );
    await addPartition(-97);
    await rolledUpUntil(-90);
    await expect(runMaintenanceTasks(options)).rejects.toThrow('Failed maintenance tasks: 1');
    expect(await partitions()).not.toContain(nameOf(-97));
    const shutdown = new AbortController();
    const logger = createSilentLogger();
    jest.spyOn(logger, 'error').mockImplementation(() => {
      shutdown.abort();
      return logger;
    });
    const run = runMaintenanceTasks({ ...options, logger }, shutdown.signal);
    await expect(run).rejects.toThrow('Failed maintenance tasks: 1');
    await pool.query('drop trigger refuse on sessions');
  });

  test('runs on the leader only', async () => {
    await api.database.pool.query(`drop table ${nameOf(6)}`);
    const standby = startHousekeeping({ ...options, isLeader: () => false });
    await standby.stop();
    expect(await partitions()).not.toContain(nameOf(6));
    const leader = startHousekeeping(options);
    await until('the partition is made', async () => (await partitions()).includes(nameOf(6)));
    await leader.stop();
  });
});
