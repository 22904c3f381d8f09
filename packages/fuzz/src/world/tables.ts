import type { OpenDatabase } from '@tocsin/db/database/open';

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
