import { Client } from 'pg';
import { TEMPLATE_DATABASE } from './servers.ts';

export interface TestDatabase {
  readonly url: string;
  /** Terminates all sessions and drops the database. */
  drop(): Promise<void>;
}

/** Starts at 0 for each test file, because jest loads this module again. */
let count = 0;

/**
 * Creates a database from the migrated template, which is faster than emptying tables. A file that needs several databases at once gets more.
 * Works only within a test run.
 */
export async function createTestDatabase(): Promise<TestDatabase> {
  const name = `test_${process.pid}_${(count += 1)}`;
  const drop = `drop database if exists ${name} with (force)`;
  await administer(async (client) => {
    await client.query(drop);
    await client.query(`create database ${name} template ${TEMPLATE_DATABASE}`);
  });
  const url = new URL(serverUrl());
  url.pathname = `/${name}`;
  return { url: url.href, drop: () => administer(async (client) => void (await client.query(drop))) };
}

async function administer(work: (client: Client) => Promise<void>): Promise<void> {
  const client = new Client({ connectionString: serverUrl() });
  await client.connect();
  try {
    await work(client);
  } finally {
    await client.end();
  }
}

function serverUrl(): string {
  const url = process.env['TEST_DATABASE_URL'];
  if (url === undefined) throw new Error('TEST_DATABASE_URL is not set: run the tests with `npm test`');
  return url;
}
