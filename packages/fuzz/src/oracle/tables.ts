import type { OpenDatabase } from '@tocsin/db/database/open';
import { REGIONS } from '../system/system.ts';

const OF_ACCOUNT = 'account_id = any($1)';
const OF_MONITORS = `monitor_id in (select id from monitors where ${OF_ACCOUNT})`;
const OF_INCIDENTS = `incident_id in (select id from incidents where ${OF_ACCOUNT})`;
const OF_USERS = `user_id in (select id from users where ${OF_ACCOUNT})`;

/** The tables of an account, by the condition for their rows. */
const TABLES: readonly (readonly [condition: string, tables: string])[] = [
  [OF_ACCOUNT, 'monitors idempotency_keys channels deliveries status_changes maintenance_windows api_keys'],
  [OF_ACCOUNT, 'invitations users user_tombstones region_canaries test_checks'],
  [OF_MONITORS, 'events triggers channel_monitors incidents maintenance_window_monitors monitor_regions'],
  [OF_INCIDENTS, 'incident_notes'],
  [OF_USERS, 'user_logins sessions'],
];
/** Columns that something other than the request may write. Signing in and reading the session extend it. */
const IGNORED: Readonly<Record<string, string>> = {
  monitor_regions: 'scheduled_revision',
  api_keys: 'last_used_at',
  sessions: 'updated_at,expires_at',
};

const DIGEST = TABLES.flatMap(([condition, tables]) =>
  tables.split(' ').map(
    (table) =>
      `select '${table}' as name, md5(string_agg(row, E'\\n' order by row)) as digest
      from (select (to_jsonb(t) - '{${IGNORED[table] ?? ''}}'::text[])::text as row from ${table} t
        where ${condition}) rows`,
  ),
).join(' union all ');

/** A hash of the rows of accounts, by table. */
export type Digest = Readonly<Record<string, string | null>>;

export async function digestOf({ pool }: OpenDatabase, accountIds: readonly string[]): Promise<Digest> {
  const { rows } = await pool.query<{ name: string; digest: string | null }>({
    name: 'digest',
    text: DIGEST,
    values: [accountIds],
  });
  return Object.fromEntries(rows.map(({ name, digest }) => [name, digest]));
}

export function changedTables(before: Digest, after: Digest): string[] {
  return Object.keys(after).filter((table) => before[table] !== after[table]);
}

/** Deletes the resources of an account except these users and keys. */
export async function emptyAccount(
  { pool }: OpenDatabase,
  accountId: string,
  actors: readonly string[],
): Promise<void> {
  const monitors = 'select id from monitors where account_id = $1';
  await pool.query(`delete from events where monitor_id in (${monitors})`, [accountId]);
  await pool.query('delete from user_tombstones where account_id = $1', [accountId]);
  const tables = 'maintenance_windows channels incidents status_changes monitors invitations api_keys users';
  for (const table of tables.split(' '))
    await pool.query(`delete from ${table} where account_id = $1 and id <> all($2)`, [accountId, actors]);
}

/** Queries for rows that contradict each other: what the api must write together. */
const BROKEN = `
  with own as (select * from monitors where account_id = any($1)),
  expected as (
    select m.id, r.region, m.interval_seconds from own m
    cross join unnest(case when m.regions = '{}' then array[$2::text] else m.regions end) r (region)),
  running as (select s.* from schedule_spans s join own on own.id = s.monitor_id where s.ends_at is null)
  select 'a monitor has no state in its region' as problem, e.id, e.region from expected e
  where not exists (select from monitor_regions r where r.monitor_id = e.id and r.region = e.region)
  union all
  select 'a monitor has a state in another region', r.monitor_id, r.region
  from monitor_regions r join own on own.id = r.monitor_id
  where not exists (select from expected e where e.id = r.monitor_id and e.region = r.region)
  union all
  select 'a monitor has no schedule in its region', e.id, e.region from expected e
  where not exists (
    select from running s where s.monitor_id = e.id and s.region = e.region and s.interval_seconds = e.interval_seconds)
  union all
  select 'a monitor has a schedule in another region', s.monitor_id, s.region from running s
  where not exists (select from expected e where e.id = s.monitor_id and e.region = s.region)
  union all
  select 'a monitor that is up has an open incident', own.id, i.region
  from incidents i join own on own.id = i.monitor_id
  where i.resolved_at is null and own.status in ('PENDING', 'UP')`;

/** What was written in part, one sentence each. */
export async function findBroken({ pool }: OpenDatabase, accountIds: readonly string[]): Promise<string[]> {
  const { rows } = await pool.query<{ problem: string; id: string; region: string }>({
    name: 'broken',
    text: BROKEN,
    values: [accountIds, REGIONS[0]],
  });
  return rows.map(({ problem, id, region }) => `${problem}: ${id} ${region}`);
}
