import { readFile, readdir, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { errorCode } from '@tocsin/runtime/error-code';
import { endOrphan } from '../postgres-cluster.ts';
import { endRedisOrphan } from '../redis-orphan.ts';

/** Every process of a run inherits one of these variables, with the folder of the run or one below it. */
const RUN_VARIABLES = ['TEST_FOLDER', 'DATA_DIR'];

/** The ids of the processes that a run in this folder started. Empty on systems without /proc. */
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

/** Ends what a run left behind in its folder: its processes, at once, and then its servers. The data stays. */
export async function endLeftovers(folder: string): Promise<void> {
  // Stopped servers cannot be asked to end; neither can services without their parent that wait for a server.
  for (const pid of await processesOf(folder)) {
    try {
      process.kill(pid, 'SIGKILL');
    } catch (error) {
      if (errorCode(error) !== 'ESRCH') throw error;
    }
  }
  for (const server of await serverFolders(folder)) {
    await endOrphan(server);
    await endRedisOrphan(server);
  }
}

/** Ends what a run left behind in its folder, and removes the folder with its data. */
export async function sweep(folder: string): Promise<void> {
  await endLeftovers(folder);
  for (const server of await serverFolders(folder)) await rm(server, { recursive: true, force: true });
  await rm(folder, { recursive: true, force: true });
}

/** The folders of servers below a folder, also of those whose data had to go elsewhere. */
async function serverFolders(folder: string): Promise<string[]> {
  const found: string[] = [];
  for (const file of await readdir(folder, { recursive: true }).catch(() => [])) {
    const path = join(folder, file);
    if (/(^|\/)(postmaster\.pid|pid)$/.test(file)) found.push(dirname(path));
    else if (/(^|\/)location$/.test(file)) {
      const moved = (await readFile(path, 'utf8').catch(() => '')).trim();
      if (moved !== '') found.push(moved, ...(await serverFolders(moved)));
    }
  }
  return found;
}
