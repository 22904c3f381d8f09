import type { OpenDatabase } from '@tocsin/db/database/open';

const OF_ACCOUNT = 'account_id = any($1)';
const OF_MONITORS = `monitor_id in (select id from monitors where ${OF_ACCOUNT})`;
const OF_INCIDENTS = `incident_id in (select id from incidents where ${OF_ACCOUNT})`;
const OF_USERS = `user_id in (select id from users where ${OF_ACCOUNT})`;

/** The tables with data of an account, by the condition that selects its rows. */
const TABLES: readonly (readonly [condition: string, tables: string])[] = [
  [OF_ACCOUNT, 'monitors idempotency_keys channels deliveries status_changes maintenance_windows api_keys'],
  [OF_ACCOUNT, 'invitations users user_tombstones region_canaries test_checks'],
  [OF_MONITORS, 'events triggers channel_monitors incidents maintenance_window_monitors monitor_regions'],
  [OF_INCIDENTS, 'incident_notes'],
  [OF_USERS, 'user_logins sessions'],
];
/** Columns that change without a request. Sign-ins and reads extend a session. */
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

/** Deletes the resources of an account. @param actors ids of the users and keys that remain */
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
