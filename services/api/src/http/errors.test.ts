import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { openDatabase, type OpenDatabase } from '@tocsin/db/database/open';
import { createTestDatabase, type TestDatabase } from '@tocsin/embedded/testing/database';
import { isOutage } from './errors.ts';

let testDatabase: TestDatabase;
let database: OpenDatabase;
beforeAll(async () => {
  testDatabase = await createTestDatabase();
  const options = { poolSize: 3, applicationName: 'test', onIdleError: () => undefined };
  database = openDatabase({ url: testDatabase.url, ...options });
});
afterAll(async () => {
  await database.close();
  await testDatabase.drop();
});

/** The error that the work throws. */
async function errorOf(work: Promise<unknown>): Promise<unknown> {
  return work.then(
    () => null,
    (error: unknown) => error,
  );
}

const MAX_TRIES = 200;

/** Runs statements in one session that is ended afterwards. @returns the error of the last one */
async function sessionError(...statements: readonly string[]): Promise<unknown> {
  const client = await database.pool.connect();
  try {
    for (const statement of statements.slice(0, -1)) await client.query(statement);
    return await errorOf(client.query(statements.at(-1) ?? ''));
  } finally {
    client.release(true);
  }
}

describe('these errors are an outage:', () => {
  test('an ended session, and queries that are still sent in it', async () => {
    const client = await database.pool.connect();
    const { rows } = await client.query<{ pid: number }>('select pg_backend_pid() as pid');
    await database.pool.query('select pg_terminate_backend($1)', [rows[0]?.pid]);
    const errors: unknown[] = [];
    for (let tries = 0; tries < MAX_TRIES && !/not queryable/.test(String(errors.at(-1))); tries += 1) {
      errors.push(await errorOf(client.query('select pg_sleep(1)')));
    }
    client.release(true);
    expect(String(errors.at(-1))).toMatch(/not queryable/);
    expect(errors.map((error) => isOutage(error))).toEqual(errors.map(() => true));
  });

  test('a lock that others hold for too long', async () => {
    const holder = await database.pool.connect();
    await holder.query('begin');
    await holder.query('lock table monitors in access exclusive mode');
    const error = await sessionError(`set lock_timeout = '1ms'`, 'select from monitors');
    holder.release(true);
    expect(error).toMatchObject({ code: '55P03' });
    expect(isOutage(error)).toBe(true);
  });

  test('a statement that takes too long', async () => {
    const error = await sessionError(`set statement_timeout = '1ms'`, 'select pg_sleep(10)');
    expect(error).toMatchObject({ code: '57014' });
    expect(isOutage(error)).toBe(true);
  });
});

describe('these errors are not an outage:', () => {
  test('a mistake in a statement', async () => {
    expect(isOutage(await sessionError('select nothing'))).toBe(false);
  });

  test('any other error', () => {
    expect(isOutage(new TypeError('x is not a function'))).toBe(false);
    expect(isOutage(null)).toBe(false);
  });
});
