import { readdir, readFile, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { errorCode } from '@tocsin/runtime/error-code';
import { endOrphan } from '../postgres-cluster.ts';
import { endRedisOrphan } from '../redis.ts';
import { relocatedFolder } from '../server-folder.ts';

/** All processes of a run inherit one of these variables with a folder of the run. */
const RUN_VARIABLES = ['TEST_FOLDER', 'DATA_DIR'];
const MAX_ROUNDS = 100;
const BETWEEN_ROUNDS_MS = 50;

/** IDs of processes started by a run in this folder. Empty on systems without /proc. */
export async function processesOf(folder: string): Promise<number[]> {
  const entries = await readdir('/proc').catch(() => []);
  const pids = entries.map(Number).filter((pid) => pid > 0 && pid !== process.pid);
  const belong = await Promise.all(
    pids.map(async (pid) => {
      const environment = await readFile(`/proc/${pid}/environ`, 'utf8').catch(() => '');
      return environment.split('\0').some((entry) => namesFolder(entry, folder));
    }),
  );
  return pids.filter((_, index) => belong[index]);
}

function namesFolder(entry: string, folder: string): boolean {
  return RUN_VARIABLES.some(
    (name) => entry === `${name}=${folder}` || entry.startsWith(`${name}=${folder}/`),
  );
}

/** Kills leftover processes of a run and stops its servers. Keeps the data. */
export async function endLeftovers(folder: string): Promise<void> {
  for (let round = 0; round < MAX_ROUNDS; round += 1) {
    // A process may start another process before it is killed.
    const pids = await processesOf(folder);
    if (pids.length === 0) break;
    for (const pid of pids) kill(pid);
    await wait(BETWEEN_ROUNDS_MS);
  }
  for (const server of await serverFolders(folder)) {
    await endOrphan(server);
    await endRedisOrphan(server);
  }
}

/** Uses SIGKILL, because suspended or waiting processes do not react to other signals. */
function kill(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch (error) {
    if (errorCode(error) !== 'ESRCH' && errorCode(error) !== 'EPERM') throw error;
  }
}

/** Cleans up after a run and removes its folder, including data. */
export async function sweep(folder: string): Promise<void> {
  await endLeftovers(folder);
  for (const server of await serverFolders(folder)) await rm(server, { recursive: true, force: true });
  await rm(folder, { recursive: true, force: true });
}

/** Folders of running servers, including relocated folders. */
async function serverFolders(folder: string): Promise<string[]> {
  const files = await readdir(folder, { recursive: true }).catch(() => []);
  const own = files.filter((file) => /(^|\/)(postmaster\.pid|pid)$/.test(file));
  const notes = files.filter((file) => /(^|\/)location$/.test(file));
  const moved = await Promise.all(notes.map((note) => relocatedFolder(dirname(join(folder, note)))));
  return [
    ...own.map((file) => dirname(join(folder, file))),
    ...moved.flatMap((path) => (path === null ? [] : [path, join(path, 'cluster')])),
  ];
}
