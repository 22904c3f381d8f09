import { setImmediate } from 'node:timers/promises';
import { afterAll, afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { PROPERTY_PARAMETERS } from '@tocsin/core/testing/property-parameters';
import { encodeArray } from '@tocsin/db/database/binary-arrays';
import { type OpenDatabase, openDatabase, type OpenDatabaseOptions } from '@tocsin/db/database/open';
import { PREPARE } from '@tocsin/db/database/preparing-client';
import { arrayOf, buildOnce } from '@tocsin/db/database/sql';
import { workForShare } from '@tocsin/db/database/work-share';
import { createTestDatabase } from '@tocsin/embedded/testing/database';
import { TcpProxy } from '@tocsin/embedded/testing/tcp-proxy';
import { until } from '@tocsin/embedded/testing/until';
import { type DrizzleQueryError, sql } from 'drizzle-orm';
import * as fc from 'fast-check';

fc.configureGlobal(PROPERTY_PARAMETERS);

const testDatabase = await createTestDatabase();
const database = open();
const { db } = database;
afterAll(async () => {
  await database.close();
  await testDatabase.drop();
});

function open(options: Partial<OpenDatabaseOptions> = {}): OpenDatabase {
  const defaults = { poolSize: 1, applicationName: 'test', onIdleError: () => undefined };
  return openDatabase({ url: testDatabase.url, ...defaults, ...options });
}

describe('through a failing network', () => {
  let proxy: TcpProxy;
  beforeEach(async () => {
    proxy = await TcpProxy.start(testDatabase.url);
  });
  afterEach(() => proxy.stop());

  const oneServer = (): string => proxy.through(testDatabase.url);
  /** Returns a URL with the same server twice. */
  function twoServers(): string {
    const { host } = new URL(oneServer());
    return oneServer().replace(host, `${host},${host}`);
  }

  test.each([
    ['one server', oneServer, true],
    ['two servers', twoServers, true],
    ['two servers, neither of which has responded', twoServers, false],
  ])(
    'an abandoned database of %s rejects current and later queries on a dead connection, and can be closed',
    async (_servers, urlOf, connects) => {
      const abandoned = open({ url: urlOf(), poolSize: 2 });
      if (connects) await abandoned.ping();
      const before = proxy.accepted;
      proxy.blackHole();
      // With a connection, one query uses it, one uses a new connection, and one waits for a free one.
      const outcomes = Promise.allSettled([abandoned.ping(), abandoned.ping(), abandoned.ping()]);
      await until('a new connection is requested', () => proxy.accepted > before);
      abandoned.abandon();
      expect((await outcomes).map(({ status }) => status)).toEqual(['rejected', 'rejected', 'rejected']);
      await expect(abandoned.ping()).rejects.toThrow('The service is shutting down');
      await abandoned.close();
      // An unhandled error of a socket would be raised in a later turn of the event loop and fail this test.
      await setImmediate();
    },
  );

  // The pool has one connection. If it is not released, the next transaction and the shutdown wait for it.
  test.each(['begin', 'select 1', 'commit'])(
    'a connection that breaks at "%s" is replaced for the next transaction',
    async (statement) => {
      const single = open({ url: oneServer() });
      const transact = () => single.db.transaction((tx) => tx.execute(sql`select 1`));
      await transact();
      proxy.failsAt = { text: statement, how: 'close' };
      await expect(transact()).rejects.toThrow();
      proxy.failsAt = null;
      await transact();
      await single.close();
    },
  );
});

test('a transaction rethrows an error from its callback and keeps its session usable', async () => {
  const readPid = async () => (await db.execute(sql`select pg_backend_pid() as pid`)).rows;
  const before = await readPid();
  const failing = db.transaction(() => Promise.reject(new RangeError('no')));
  await expect(failing).rejects.toThrow(new RangeError('no'));
  expect(await readPid()).toEqual(before);
});

test('a transaction applies its settings', async () => {
  const readOnly = sql`show transaction_read_only`;
  const { rows } = await db.transaction((tx) => tx.execute(readOnly), { accessMode: 'read only' });
  expect(rows).toEqual([{ transaction_read_only: 'on' }]);
});

describe('a session', () => {
  const selectValue = buildOnce((tx) =>
    tx.select({ value: sql`${PREPARE} ${sql.placeholder('value')}::int` }).from(sql`(select) as one`),
  );

  test.each([
    [false, ['select $1::int as value', 'from (select) as one']],
    // Behind a transaction pooler, the next transaction has another session.
    [true, []],
  ])(
    'prepares each marked statement once, and others never (pooler: %s)',
    async (throughPooler, expected) => {
      const session = open({ throughPooler });
      for (const value of [1, 2]) {
        const { rows } = await session.db.execute(sql`${PREPARE} select ${value}::int as value`);
        expect(rows).toEqual([{ value }]);
        await session.db.execute(sql`select ${value}::int as other`);
        expect(await selectValue(session.db, { value })).toEqual([{ value }]);
      }
      const { rows } = await session.db.execute(sql`
      select statement from pg_prepared_statements order by statement like '%one%'`);
      await session.close();
      expect(rows).toEqual(expected.map((text) => ({ statement: expect.stringContaining(text) })));
    },
  );

  test.each([
    [false, 'on'],
    [true, 'off'],
  ])('that avoids scans (%s) has enable_seqscan %s', async (avoidsScans, setting) => {
    const session = open({ avoidsScans });
    const { rows } = await session.db.execute(sql`show enable_seqscan`);
    await session.close();
    expect(rows).toEqual([{ enable_seqscan: setting }]);
  });
});

describe('an array', () => {
  /** Returns the elements that Postgres reads as text. */
  async function read(type: string, values: readonly unknown[]): Promise<(string | null)[]> {
    const { rows } = await db.execute<{ value: string | null }>(
      sql`select value::text from unnest(${arrayOf(type, values)}) with ordinality as u (value, position) order by position`,
    );
    return rows.map(({ value }) => value);
  }

  const text = fc.string({ unit: 'binary' }).filter((value) => !value.includes('\0'));
  const TYPES: readonly (readonly [type: string, value: fc.Arbitrary<boolean | number | string>])[] = [
    ['bool', fc.boolean()],
    ['int', fc.integer({ min: -(2 ** 31), max: 2 ** 31 - 1 })],
    ['text', fc.oneof(text, fc.constantFrom('', 'NULL', '"', '\\', '{a,b}', 'é🙂'))],
    ['uuid', fc.uuid()],
  ];

  test.each(TYPES)('of %s is read as it was', async (type, value) => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.option(value)), async (values) => {
        expect(await read(type, values)).toEqual(values.map((one) => (one === null ? null : String(one))));
      }),
      { numRuns: 40 },
    );
  });

  test('of instants is read to the millisecond, from numbers and dates', async () => {
    const time = fc.oneof(
      fc.integer({ min: Date.UTC(1970, 0), max: Date.UTC(2200, 0) }),
      fc.date({ noInvalidDate: true, min: new Date('0001-01-01'), max: new Date('9999-12-31') }),
    );
    await fc.assert(
      fc.asyncProperty(fc.array(fc.option(time)), async (values) => {
        const { rows } = await db.execute<{ ms: number | null }>(sql`
          select (extract(epoch from time) * 1000)::float8 as ms
          from unnest(${arrayOf('timestamptz', values)}) with ordinality as u (time, position) order by position`);
        expect(rows.map(({ ms }) => ms)).toEqual(values.map((one) => (one === null ? null : Number(one))));
      }),
      { numRuns: 40 },
    );
    expect(await read('timestamptz', [-Infinity])).toEqual(['-infinity']);
  });

  test.each([
    ['int', 1.5, '22P02'],
    ['int', 2 ** 31, '22003'],
    ['timestamptz', 'yesterday at noon or so', '22007'],
    ['text', 'a\0b', '22021'],
  ])('of %s with %p is refused as in other statements', async (type, value, code) => {
    const error: unknown = await read(type, [value]).catch((reason: unknown) => reason);
    expect((error as DrizzleQueryError).cause).toMatchObject({ code });
  });

  test('of values without a binary form stays text', () => {
    expect([encodeArray('jsonb', []), encodeArray('int', [1, 'one'])]).toEqual([undefined, undefined]);
    expect(encodeArray('int', [1, null])).toBeInstanceOf(Buffer);
  });
});

describe('a slice of background work', () => {
  const slice = async (): Promise<string> => 'done';

  test('is followed by a pause, which the signal ends', async () => {
    const shutdown = new AbortController();
    let ended = false;
    const working = workForShare(1e-9, shutdown.signal, slice).finally(() => (ended = true));
    await setImmediate();
    expect(ended).toBe(false);
    shutdown.abort();
    expect(await working).toBe('done');
  });

  test('is not followed by a pause if its share is 1, or if it fails', async () => {
    expect(await workForShare(1, undefined, slice)).toBe('done');
    const failing = workForShare(1e-9, undefined, () => Promise.reject(new Error('out of disk')));
    await expect(failing).rejects.toThrow('out of disk');
  });
});
