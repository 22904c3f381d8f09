import type { OpenDatabase } from '@tocsin/db/database/open';
import { REGIONS } from '../system/system.ts';

const OF_ACCOUNT = 'account_id = any($1)';
const OF_MONITORS = `monitor_id in (select id from monitors where ${OF_ACCOUNT})`;
const OF_USERS = `user_id in (select id from users where ${OF_ACCOUNT})`;

/** The tables of an account, without columns that something else than the request may write. */
const TABLES: readonly (readonly [table: string, condition: string, ignored?: string])[] = [
  ...['monitors', 'idempotency_keys', 'channels', 'deliveries', 'status_changes', 'maintenance_windows'].map(
    (table) => [table, OF_ACCOUNT] as const,
  ),
  ...['invitations', 'users', 'user_tombstones'].map((table) => [table, OF_ACCOUNT] as const),
  ...['events', 'triggers', 'channel_monitors', 'incidents', 'maintenance_window_monitors'].map(
    (table) => [table, OF_MONITORS] as const,
  ),
  ['monitor_regions', OF_MONITORS, 'scheduled_revision'],
  ['api_keys', OF_ACCOUNT, 'last_used_at'],
  ['user_logins', OF_USERS],
  // Signing in and reading the session prolong it.
  ['sessions', OF_USERS, 'updated_at,expires_at'],
];

const DIGEST = TABLES.map(
  ([table, condition, ignored = '']) =>
    `select '${table}' as name, md5(string_agg(row, E'\\n' order by row)) as digest
    from (select (to_jsonb(t) - '{${ignored}}'::text[])::text as row from ${table} t where ${condition}) rows`,
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

/** Deletes everything of an account except these users and keys. */
export async function emptyAccount(
  { pool }: OpenDatabase,
  accountId: string,
  actors: readonly string[],
): Promise<void> {
  const ofAccount = 'account_id = $1';
  for (const [table, condition] of [
    ['maintenance_windows', ofAccount],
    ['deliveries', ofAccount],
    ['channels', ofAccount],
    ['events', `monitor_id in (select id from monitors where ${ofAccount})`],
    ['incidents', ofAccount],
    ['status_changes', ofAccount],
    ['monitors', ofAccount],
    ['invitations', ofAccount],
    ['user_tombstones', ofAccount],
    ['api_keys', `${ofAccount} and id <> all($2)`],
    ['users', `${ofAccount} and id <> all($2)`],
  ] as const)
    await pool.query(
      `delete from ${table} where ${condition}`,
      condition.includes('$2') ? [accountId, actors] : [accountId],
    );
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
