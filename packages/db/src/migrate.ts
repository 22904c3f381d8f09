import { fileURLToPath } from 'node:url';
import { drizzle } from 'drizzle-orm/node-postgres';
import { migrate as applyMigrations } from 'drizzle-orm/node-postgres/migrator';
import { Client } from 'pg';
import { ADVISORY_LOCKS } from './database/leader-lease.ts';
import { ensureEventPartitions } from './events/ensure-partitions.ts';
import { alignSpans } from './schedule-spans/align-spans.ts';

const MIGRATIONS = fileURLToPath(new URL('../migrations', import.meta.url));

/** Brings the database to this version's schema; safe to run from several processes at once. */
export async function migrate(databaseUrl: string): Promise<void> {
  const client = new Client({ connectionString: databaseUrl, application_name: 'tocsin migrations' });
  await client.connect();
  try {
    await client.query('select pg_advisory_lock($1)', [ADVISORY_LOCKS.migrations]);
    const db = drizzle(client);
    await applyMigrations(db, { migrationsFolder: MIGRATIONS });
    await ensureEventPartitions(db);
    await alignSpans(db);
  } finally {
    await client.end();
  }
}
