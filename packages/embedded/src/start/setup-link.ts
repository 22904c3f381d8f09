import { openDatabase } from '@tocsin/db/database/open';
import { renewSetupInvitation } from '@tocsin/db/users/invitations';

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
