import { randomUUID } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, jest, test } from '@jest/globals';
import type { Event } from '@tocsin/contracts/monitors/events';
import type { CheckRecord } from '@tocsin/db/checks/check-record';
import { recordChecks } from '@tocsin/db/checks/record-checks';
import { type Database, openDatabase, type Transaction } from '@tocsin/db/database/open';
import { ensureEventPartitions } from '@tocsin/db/events/partitions';
import { tailAccount } from '@tocsin/db/events/tail-account';
import { deleteMonitor } from '@tocsin/db/monitors/delete-monitors';
import { accounts } from '@tocsin/db/users/table';
import { until } from '@tocsin/embedded/testing/until';
import { sql } from 'drizzle-orm';
import type { Pool } from 'pg';
import { Draw } from './draw.ts';
import { checkOf, failureOf, makeMonitor, readClock, type TestContext, useTestContext } from './harness.ts';
import { DAY_MS, HOUR_MS, insertRows } from './packing-data.ts';

const context = await useTestContext();
const { db, accountId, actor } = context;
afterEach(() => void jest.restoreAllMocks());

beforeEach(() => db.execute(sql`truncate monitors, events cascade`));

async function makeMonitors(count: number): Promise<string[]> {
  const made = Array.from({ length: count }, (_, index) => makeMonitor(context, { name: `Shop ${index}` }));
  return (await Promise.all(made)).map(({ id }) => id);
}

/** Follows the account from now on. */
class Tail {
  readonly events: Event[] = [];
  polls = 0;
  #cursor: string | undefined;
  readonly #db: Database;
  readonly #accountId: string;

  constructor({ db, accountId }: Pick<TestContext, 'db' | 'accountId'>, cursor?: string) {
    this.#cursor = cursor;
    this.#db = db;
    this.#accountId = accountId;
  }

  async poll(limit = 500): Promise<Event[]> {
    const page = await tailAccount(this.#db, this.#accountId, { since: this.#cursor, limit });
    this.#cursor = page.cursor;
    this.events.push(...page.events);
    this.polls += 1;
    return page.events;
  }

  get ids(): string[] {
    return this.events.map(({ id }) => id);
  }

  /** Polls until it has read everything that is recorded now. */
  async catchUp(limit?: number): Promise<void> {
    await untilPast(await latestTimestamp());
    // An empty page may still wait for an open transaction.
    const [end] = await makeMonitors(1);
    await recordChecks(db, [checkOf(end ?? '')]);
    await untilPast(await latestTimestamp());
    await until('the last event', async () => {
      await this.poll(limit);
      return this.events.at(-1)?.monitorId === end;
    });
    this.events.pop();
    await deleteMonitor(db, actor, end ?? '');
  }
}

async function beginTail(): Promise<Tail> {
  const tail = new Tail(context);
  expect(await tail.poll()).toEqual([]);
  return tail;
}

async function latestTimestamp(): Promise<number> {
  const { rows } = await db.execute<{ latest: number | null }>(
    sql`select (extract(epoch from max(timestamp)) * 1000)::float8 as latest from events`,
  );
  return rows[0]?.latest ?? 0;
}

/** Waits until Postgres' clock is past this, so that later events get later timestamps. */
async function untilPast(timestamp: number): Promise<void> {
  await until('the clock', async () => (await readClock(context)) >= timestamp + 2);
}

/** Returns the cursor of this time relative to now. */
async function cursorAt(offsetMs: number): Promise<string> {
  return Buffer.from(`${Math.floor(await readClock(context)) + offsetMs} `).toString('base64url');
}

/** Lists the committed events of the account's monitors, by timestamp, then monitor. */
async function listCommitted(): Promise<string[]> {
  const { rows } = await db.execute<{ id: string }>(sql`
    select e.id from events e join monitors m on m.id = e.monitor_id
    where m.account_id = ${accountId} order by e.timestamp, e.monitor_id`);
  return rows.map(({ id }) => id);
}

class RolledBack extends Error {}

/** Records a batch in a transaction that stays open until `hold` resolves, and then ends in this way. */
async function recordSlowly(
  checks: readonly CheckRecord[],
  hold: () => Promise<unknown>,
  end: 'commit' | 'roll back' | 'kill',
): Promise<void> {
  const record = async (tx: Transaction): Promise<void> => {
    await recordChecks(tx, checks);
    await hold();
    if (end === 'roll back') throw new RolledBack();
    if (end === 'commit') return;
    const { rows } = await tx.execute<{ pid: number }>(sql`select pg_backend_pid() as pid`);
    await db.execute(sql`select pg_terminate_backend(${rows[0]?.pid})`);
  };
  const outcome = await db.transaction(record).then(
    () => 'commit',
    (error: unknown) => (error instanceof RolledBack ? 'roll back' : 'kill'),
  );
  expect(outcome).toBe(end);
}

test('a tail gets each committed event once and in order, whether transactions of writers commit or fail', async () => {
  const ids = await makeMonitors(12);
  const tail = await beginTail();
  const written = new AbortController();
  const follow = async (): Promise<void> => {
    const draw = new Draw(99);
    while (!written.signal.aborted) await tail.poll(1 + draw.below(6));
  };
  const write = async (seed: number): Promise<void> => {
    const draw = new Draw(seed);
    for (let round = 0; round < 10; round += 1) {
      const chosen = ids.filter(() => draw.below(4) === 0);
      const checks = chosen.map((id) => (draw.below(3) === 0 ? failureOf(id) : checkOf(id)));
      const kind = draw.below(8);
      if (kind > 3) await recordChecks(db, checks);
      else {
        // In the meantime, the tail reads what others commit.
        const polls = tail.polls + 1 + draw.below(4);
        const hold = (): Promise<unknown> => until('the tail to poll', () => tail.polls >= polls);
        await recordSlowly(
          checks,
          hold,
          (['commit', 'commit', 'roll back', 'kill'] as const)[kind] ?? 'kill',
        );
      }
    }
  };
  const following = follow();
  await Promise.all([1, 2, 3, 4, 5].map(write)).finally(() => written.abort());
  await following;
  await tail.catchUp(7);
  const committed = await listCommitted();
  expect(committed.length).toBeGreaterThan(50);
  expect(tail.ids).toEqual(committed);
});

describe('an open transaction', () => {
  test('that records events holds back later events, which then follow in order', async () => {
    const [slow = '', early = '', late = ''] = await makeMonitors(3);
    const tail = await beginTail();
    await recordChecks(db, [checkOf(early)]);
    await untilPast(await latestTimestamp());
    const hold = async (): Promise<void> => {
      await untilPast(await readClock(context));
      await recordChecks(db, [checkOf(late)]);
      await untilPast(await latestTimestamp());
      expect((await tail.poll()).map(({ monitorId }) => monitorId)).toEqual([early]);
      expect(await tail.poll()).toEqual([]);
    };
    await recordSlowly([checkOf(slow)], hold, 'commit');
    expect((await tail.poll()).map(({ monitorId }) => monitorId)).toEqual([slow, late]);
  });

  test('that records nothing holds nothing back', async () => {
    const [id = ''] = await makeMonitors(1);
    const tail = await beginTail();
    await db.transaction(async (tx) => {
      await tx.execute(sql`select count(*) from monitors, events`);
      await tx.insert(accounts).values({ id: randomUUID(), name: 'Writes' });
      await recordChecks(db, [checkOf(id)]);
      await untilPast(await latestTimestamp());
      expect((await tail.poll()).map(({ monitorId }) => monitorId)).toEqual([id]);
    });
  });

  test('of a role whose sessions are hidden makes the tail unavailable instead of incomplete', async () => {
    const [id = ''] = await makeMonitors(1);
    const role = `reader_${randomUUID().replaceAll('-', '')}`;
    await db.execute(sql`create role ${sql.identifier(role)}`);
    await db.execute(sql`grant select on all tables in schema public to ${sql.identifier(role)}`);
    const limited = openDatabase({
      url: `${context.url}?options=${encodeURIComponent(`-c role=${role}`)}`,
      poolSize: 1,
      throughPooler: true,
      applicationName: 'tocsin test',
      onIdleError: () => undefined,
    });
    try {
      const tail = new Tail({ db: limited.db, accountId: accountId });
      expect(await tail.poll()).toEqual([]);
      const hold = (): Promise<void> => expect(tail.poll()).rejects.toMatchObject({ code: 'unavailable' });
      await recordSlowly([checkOf(id)], hold, 'commit');
      await db.execute(sql`grant pg_read_all_stats to ${sql.identifier(role)}`);
      await recordSlowly([checkOf(id)], () => tail.poll(), 'commit');
      await untilPast(await latestTimestamp());
      await tail.poll();
      expect(tail.ids).toEqual(await listCommitted());
    } finally {
      await limited.close();
      await db.execute(sql`drop owned by ${sql.identifier(role)}`);
      await db.execute(sql`drop role ${sql.identifier(role)}`);
    }
  });
});

test('pages split the events of one millisecond', async () => {
  const ids = await makeMonitors(5);
  const tail = await beginTail();
  await recordChecks(
    db,
    ids.map((id) => checkOf(id)),
  );
  await db.execute(sql`update events set timestamp = (select max(timestamp) from events)`);
  await db.execute(sql`update monitors set last_timestamp = (select max(timestamp) from events)`);
  await untilPast(await latestTimestamp());
  for (const size of [2, 2, 1]) expect(await tail.poll(2)).toHaveLength(size);
  expect(tail.ids).toEqual(await listCommitted());
});

/** Checks of a monitor with an interval of a day, in hours before now. */
const BACKLOGS: readonly [name: string, hours: (index: number) => readonly number[], statements: number][] = [
  ['sparse', (index) => [60, 36, 12].map((hours) => hours + index / 4), 1],
  [
    'a burst of one monitor',
    (index) => (index > 0 ? [1] : Array.from({ length: 80 }, (_, n) => 60 - n / 100)),
    7,
  ],
];

test.each(BACKLOGS)('a page of a backlog takes few statements: %s', async (_name, hours, most) => {
  const ids = await makeMonitors(40);
  await db.execute(sql`update monitors set interval_seconds = 86400`);
  const now = await readClock(context);
  for (const days of [1, 2, 3]) await ensureEventPartitions(db, { now: now - days * DAY_MS });
  const fields = { status: 'UP', latency_ms: 1, region: 'eu', source: 'schedule' };
  const timestampOf = (ago: number): number => Math.floor(now - ago * HOUR_MS);
  const rows = ids.flatMap((monitorId, index) =>
    hours(index).map((ago) => ({ ...fields, monitorId, timestamp: timestampOf(ago) })),
  );
  await insertRows(context, rows);
  const statements = jest.spyOn((db as unknown as { $client: Pool }).$client, 'query');
  const tail = new Tail(context, await cursorAt(-3 * DAY_MS));
  for (let page = 1; page * 30 <= rows.length; page += 1) {
    statements.mockClear();
    expect(await tail.poll(30)).toHaveLength(30);
    // Another statement reads the clock.
    expect(statements.mock.calls.length).toBeLessThanOrEqual(most + 1);
  }
  await tail.poll(30);
  expect(tail.ids).toEqual(await listCommitted());
});

test('a tail reads nothing for a client that has left, and continues there', async () => {
  const since = await cursorAt(-DAY_MS);
  const tail = tailAccount(db, accountId, { since, limit: 500, isWanted: () => false });
  expect(await tail).toEqual({ events: [], cursor: since });
});

test('a tail has no events of another account or of deleted monitors', async () => {
  const [gone = '', kept = ''] = await makeMonitors(2);
  const stranger = randomUUID();
  await db.insert(accounts).values({ id: stranger, name: 'Other' });
  const [tail, other] = [await beginTail(), new Tail({ db: db, accountId: stranger })];
  await other.poll();
  await recordChecks(db, [checkOf(gone), checkOf(kept)]);
  await deleteMonitor(db, actor, gone);
  await untilPast(await latestTimestamp());
  expect((await tail.poll()).map(({ monitorId, monitorName }) => [monitorId, monitorName])).toEqual([
    [kept, 'Shop 1'],
  ]);
  expect(await other.poll()).toEqual([]);
});

test('a cursor in the future continues now, as after Postgres’ clock was set back', async () => {
  const [id = ''] = await makeMonitors(1);
  const since = await cursorAt(3_600_000);
  const { events, cursor } = await tailAccount(db, accountId, { since, limit: 500 });
  expect(events).toEqual([]);
  await recordChecks(db, [checkOf(id)]);
  await untilPast(await latestTimestamp());
  const page = await tailAccount(db, accountId, { since: cursor, limit: 500 });
  expect(page.events.map(({ monitorId }) => monitorId)).toEqual([id]);
});

test.each(['', '2026-01-31T12:00:00.000Z', 'MTIz', 'MTIzIHg'])(
  'the cursor "%s" is refused with what to send instead',
  async (since) => {
    const tail = tailAccount(db, accountId, { since, limit: 500 });
    await expect(tail).rejects.toMatchObject({
      code: 'validation_failed',
      errors: [{ path: 'since', message: expect.stringContaining('leave it out to begin now') }],
    });
  },
);
