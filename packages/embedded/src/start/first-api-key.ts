import { Client } from 'pg';
import { ensureAccount } from '@tocsin/db/accounts/ensure-account';
import { createApiKey } from '@tocsin/db/api-keys/create-api-key';
import { openDatabase } from '@tocsin/db/database/open';

/** A key for the person who starts this database for the first time; null if there is or was one already. */
export async function createFirstApiKey(databaseUrl: string): Promise<string | null> {
  if (await hadApiKey(databaseUrl)) return null;
  const database = openDatabase({
    url: databaseUrl,
    poolSize: 1,
    applicationName: 'tocsin start',
    onIdleError: () => {},
  });
  try {
    const account = await ensureAccount(database.db);
    const { key } = await createApiKey(database.db, { accountId: account.id, name: 'First key' });
    return key;
  } finally {
    await database.close();
  }
}

async function hadApiKey(databaseUrl: string): Promise<boolean> {
  const client = new Client({ connectionString: databaseUrl });
  await client.connect();
  try {
    const { rows } = await client.query<{ had: boolean }>(
      'select exists (select from api_keys) or exists (select from api_key_tombstones) as had',
    );
    return rows[0]?.had === true;
  } finally {
    await client.end();
  }
}
