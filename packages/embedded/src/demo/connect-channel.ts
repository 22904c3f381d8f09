import { SecretBox } from '@tocsin/core/secrets/secret-box';
import { createChannel } from '@tocsin/db/channels/write-channels';
import { openDatabase } from '@tocsin/db/database/open';
import { ensureAccount } from '@tocsin/db/users/users';

/** Makes a channel that every monitor of the first account is assigned to. */
export async function connectChannel(databaseUrl: string, secretsKey: string, url: string): Promise<void> {
  const database = openDatabase({
    url: databaseUrl,
    poolSize: 1,
    applicationName: 'tocsin demo',
    onIdleError: () => undefined,
  });
  try {
    const { db } = database;
    const { id: accountId } = await ensureAccount(db);
    const secrets = new SecretBox([Buffer.from(secretsKey, 'base64')]);
    await createChannel({ db, secrets }, { accountId, name: 'Demo', url, monitorIds: [], allMonitors: true });
  } finally {
    await database.close();
  }
}
