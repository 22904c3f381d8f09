import { connectPostgres, endSession } from '@tocsin/runtime/postgres/connect';
import { DEFAULT_SCHEMA, runMigrations } from 'bullmq';
import { parseStoreUrl } from './store-url.ts';

/** Creates the tables of a Postgres store. Redis needs none. Safe to run again. */
export async function migrateQueue(queueUrl: string): Promise<void> {
  const address = parseStoreUrl(queueUrl);
  if (address.kind !== 'postgres') return;
  const session = await connectPostgres(address.url, {
    applicationName: 'tocsin migrations',
    session: 'primary',
  });
  const { client } = session;
  try {
    await runMigrations(client);
    await client.query(`
      create unlogged table if not exists ${DEFAULT_SCHEMA}.tocsin_running_checks (
        region text not null, monitor_id uuid not null, job_id text not null, until timestamptz not null,
        primary key (region, monitor_id))`);
  } finally {
    await endSession(session);
  }
}
