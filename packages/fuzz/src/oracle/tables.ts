import type { OpenDatabase } from '@tocsin/db/database/open';
import { REGIONS } from '../system/system.ts';

const MINE = 'account_id = any($1)';
const OF_MY_MONITORS = `monitor_id in (select id from monitors where ${MINE})`;
const OF_MY_USERS = `user_id in (select id from users where ${MINE})`;

/** What belongs to an account, without what is written behind a request, or by whoever keeps the schedules. */
const TABLES: readonly (readonly [table: string, condition: string, without?: string])[] = [
  ['monitors', MINE],
  ['monitor_regions', OF_MY_MONITORS, 'scheduled_revision'],
  ['events', OF_MY_MONITORS],
  ['idempotency_keys', MINE],
  ['triggers', OF_MY_MONITORS],
  ['channels', MINE],
  ['channel_monitors', OF_MY_MONITORS],
  ['deliveries', MINE],
  ['incidents', OF_MY_MONITORS],
  ['status_changes', MINE],
  ['maintenance_windows', MINE],
  ['maintenance_window_monitors', OF_MY_MONITORS],
  ['api_keys', MINE, 'last_used_at'],
  ['invitations', MINE],
  ['users', MINE],
  // Signing in again, and looking at who is signed in, prolong them.
  ['sessions', OF_MY_USERS, 'updated_at,expires_at'],
  ['user_tombstones', MINE],
  ['user_logins', OF_MY_USERS],
];

const DIGEST = TABLES.map(
  ([table, condition, without = '']) =>
    `select '${table}' as name, md5(string_agg(row, E'\\n' order by row)) as digest
    from (select (to_jsonb(t) - '{${without}}'::text[])::text as row from ${table} t where ${condition}) rows`,
).join(' union all ');

/** By table, one value for all that accounts have in it: another one after anything of it has changed. */
export type Digest = Readonly<Record<string, string | null>>;

export async function digestOf({ pool }: OpenDatabase, accountIds: readonly string[]): Promise<Digest> {
  const { rows } = await pool.query<{ name: string; digest: string | null }>({
    name: 'digest',
    text: DIGEST,
    values: [accountIds],
  });
  return Object.fromEntries(rows.map(({ name, digest }) => [name, digest]));
}

/** The tables that are not as they were. */
export function changedTables(before: Digest, after: Digest): string[] {
  return Object.keys(after).filter((table) => before[table] !== after[table]);
}

/** Takes everything from an account but those who act in it. */
export async function emptyAccount(
  { pool }: OpenDatabase,
  accountId: string,
  actors: readonly string[],
): Promise<void> {
  await pool.query('delete from maintenance_windows where account_id = $1', [accountId]);
  await pool.query('delete from deliveries where account_id = $1', [accountId]);
  await pool.query('delete from channels where account_id = $1', [accountId]);
  await pool.query('delete from events where monitor_id in (select id from monitors where account_id = $1)', [
    accountId,
  ]);
  await pool.query('delete from incidents where account_id = $1', [accountId]);
  await pool.query('delete from status_changes where account_id = $1', [accountId]);
  await pool.query('delete from monitors where account_id = $1', [accountId]);
  await pool.query('delete from invitations where account_id = $1', [accountId]);
  await pool.query('delete from user_tombstones where account_id = $1', [accountId]);
  await pool.query('delete from api_keys where account_id = $1 and id <> all($2)', [accountId, actors]);
  await pool.query('delete from users where account_id = $1 and id <> all($2)', [accountId, actors]);
}

/** What a row alone does not say, and the api must have written along with it: each query finds what is not whole. */
const BROKEN = `
  with mine as (select * from monitors where account_id = any($1)),
  wanted as (
    select m.id, r.region, m.interval_seconds from mine m
    cross join unnest(case when m.regions = '{}' then array[$2::text] else m.regions end) r (region)),
  running as (select s.* from schedule_spans s join mine on mine.id = s.monitor_id where s.ends_at is null)
  select 'a monitor lacks the state of its region' as what, w.id, w.region from wanted w
  where not exists (select from monitor_regions r where r.monitor_id = w.id and r.region = w.region)
  union all
  select 'a state is of no region of its monitor', r.monitor_id, r.region
  from monitor_regions r join mine on mine.id = r.monitor_id
  where not exists (select from wanted w where w.id = r.monitor_id and w.region = r.region)
  union all
  select 'a monitor lacks the plan of its region', w.id, w.region from wanted w
  where not exists (
    select from running s where s.monitor_id = w.id and s.region = w.region and s.interval_seconds = w.interval_seconds)
  union all
  select 'a plan is of no region of its monitor', s.monitor_id, s.region from running s
  where not exists (select from wanted w where w.id = s.monitor_id and w.region = s.region)
  union all
  select 'an incident is open though its monitor is up', mine.id, i.region
  from incidents i join mine on mine.id = i.monitor_id
  where i.resolved_at is null and mine.status in ('PENDING', 'UP')`;

/** What was written by half, in words. */
export async function listBroken({ pool }: OpenDatabase, accountIds: readonly string[]): Promise<string[]> {
  const { rows } = await pool.query<{ what: string; id: string; region: string }>({
    name: 'broken',
    text: BROKEN,
    values: [accountIds, REGIONS[0]],
  });
  return rows.map(({ what, id, region }) => `${what}: ${id} ${region}`);
}
