import { createApiKey } from '@tocsin/db/api-keys/api-keys';
import { systemActor } from '@tocsin/db/audit-log/actor';
import { openDatabase, type OpenDatabase } from '@tocsin/db/database/open';
import { renewSetupInvitation } from '@tocsin/db/users/invitations';
import { ensureFirstAccount } from '@tocsin/db/accounts/accounts';

/** Creates the first API key of a database. Returns null if the database has or had a key, or the first account was deleted. */
export async function createFirstApiKey(databaseUrl: string): Promise<string | null> {
  return useDatabase(databaseUrl, async ({ db, pool }) => {
    const { rows } = await pool.query<{ had: boolean }>(
      'select exists (select from api_keys) or exists (select from api_key_tombstones) as had',
    );
    if (rows[0]?.had === true) return null;
    const { id: accountId, isDeleted } = await ensureFirstAccount(db);
    if (isDeleted) return null;
    return (await createApiKey(db, systemActor(accountId), { name: 'First key' })).key;
  });
}

/** Creates the path of a link for the first dashboard user, and invalidates earlier links. Returns null if there is a user. */
export async function createSetupLink(databaseUrl: string): Promise<string | null> {
  return useDatabase(databaseUrl, async ({ db }) => {
    const token = await renewSetupInvitation(db);
    return token === null ? null : `/setup?token=${token}`;
  });
}

export async function useDatabase<Result>(
  url: string,
  work: (database: OpenDatabase) => Promise<Result>,
): Promise<Result> {
  const database = openDatabase({
    url,
    poolSize: 1,
    applicationName: 'tocsin start',
    onIdleError: () => undefined,
  });
  try {
    return await work(database);
  } finally {
    await database.close();
  }
}
