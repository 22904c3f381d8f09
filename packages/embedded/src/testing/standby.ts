import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { startPostgres, type PostgresServer } from '../postgres.ts';
import { keepSecret, prepareServerFolder } from '../server-folder.ts';

/**
 * Starts a PostgreSQL in recovery, which is read-only like a standby. It has the database name, user and password of `primaryUrl`, but not
 * its data.
 * @param dataDir an empty folder
 */
export async function startStandby(dataDir: string, primaryUrl: string): Promise<PostgresServer> {
  const folder = await prepareServerFolder(dataDir);
  await keepSecret(join(folder.path, 'password'), () => decodeURIComponent(new URL(primaryUrl).password));
  const primary = await startPostgres({ dataDir, durable: false });
  await primary.stop();
  await writeFile(join(primary.folder, 'cluster', 'standby.signal'), '');
  return startPostgres({ dataDir, durable: false });
}
