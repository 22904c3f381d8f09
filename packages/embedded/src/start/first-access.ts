import { createApiKey } from '@tocsin/db/api-keys/api-keys';
import { openDatabase, type OpenDatabase } from '@tocsin/db/database/open';
import { renewSetupInvitation } from '@tocsin/db/users/invitations';
import { ensureAccount } from '@tocsin/db/users/users';

/** A key for the person who starts this database for the first time; null if there is or was one already. */
export async function createFirstApiKey(databaseUrl: string): Promise<string | null> {
  const database = openDatabase({
    url: databaseUrl,
    poolSize: 1,
    applicationName: 'tocsin start',
    onIdleError: () => {},
  });
  try {
    if (await hadApiKey(database)) return null;
    const account = await ensureAccount(database.db);
    const { key } = await createApiKey(database.db, { accountId: account.id, name: 'First key' });
    return key;
  } finally {
    await database.close();
  }
}

async function hadApiKey({ pool }: OpenDatabase): Promise<boolean> {
  const { rows } = await pool.query<{ had: boolean }>(
    'select exists (select from api_keys) or exists (select from api_key_tombstones) as had',
  );
  return rows[0]?.had === true;
}

/** The path of a new link that makes the first dashboard user; null once there is one. The link of the start before ends. */
export async function createSetupLink(databaseUrl: string): Promise<string | null> {
  const database = openDatabase({
    url: databaseUrl,
    poolSize: 1,
    applicationName: 'tocsin start',
    onIdleError: () => {},
  });
  try {
    const token = await renewSetupInvitation(database.db);
    return token === null ? null : `/setup?token=${token}`;
  } finally {
    await database.close();
  }
}
