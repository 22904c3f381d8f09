import type { DashboardSystem } from '../system/dashboard-system.ts';
import { Client } from 'pg';
import { MONITOR_PLANS } from './monitor-plans.ts';

/**
 * Puts addresses that people would have in the place of those on this machine, for pictures. What is checked stays the same:
 * checkers know a monitor by its revision, which this leaves as it is.
 */
export async function showAddresses({ system }: DashboardSystem): Promise<void> {
  const client = new Client({ connectionString: system.databaseUrl });
  await client.connect();
  try {
    await client.query(
      `update monitors m set url = shown.url from unnest($1::text[], $2::text[]) as shown (name, url)
       where m.name = shown.name`,
      [MONITOR_PLANS.map(({ name }) => name), MONITOR_PLANS.map(({ address }) => address)],
    );
    await client.query(
      `update channels set url = 'https://hooks.example.com' || regexp_replace(url, '^https://[^/]*', '')`,
    );
    await client.query(
      `update monitor_regions set certificate_expires_at = date_trunc('milliseconds', now()) + interval '41 days'`,
    );
  } finally {
    await client.end();
  }
}
