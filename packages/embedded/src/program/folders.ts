import { fork } from 'node:child_process';
import { once } from 'node:events';
import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { makeFolder, prepareServerFolder } from '../server-folder.ts';
import type { Teardown } from './teardown.ts';

/** The built one: it runs as a process of its own, also where this module is read from its source. */
const SWEEPER = fileURLToPath(new URL('../../dist/program/sweeper.js', import.meta.url));

/**
 * Creates a folder below `DATA_DIR` that the users of servers can pass through. It is removed by the teardown or, if this
 * process dies before that, by a sweeper, which then also ends every process and server that was started since.
 */
export async function openFolder(name: string, teardown: Teardown): Promise<string> {
  const folder = await teardown.start(createFolder(name), remove);
  await teardown.start(startSweeper(folder), (sweeper) => sweeper.release());
  // Inherited by every process started from now on: this is how the sweeper finds them.
  process.env['TEST_FOLDER'] = folder;
  return folder;
}

async function startSweeper(folder: string): Promise<{ readonly release: () => Promise<void> }> {
  const { TEST_FOLDER: _, ...env } = process.env;
  const sweeper = fork(SWEEPER, [folder], {
    detached: true,
    execArgv: [],
    env: { ...env, NODE_OPTIONS: '' },
    stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
  });
  const exit = once(sweeper, 'exit');
  await once(sweeper, 'message');
  return {
    async release() {
      if (sweeper.connected) sweeper.send('release');
      await exit;
    },
  };
}

async function createFolder(name: string): Promise<string> {
  const parent = resolve(process.env['DATA_DIR'] ?? '.data');
  await makeFolder(parent);
  const folder = await mkdtemp(join(parent, `${name}-`));
  await chmod(folder, 0o711);
  return folder;
}

/** The folder of a server's data, which as root may be elsewhere; it goes with the rest. @returns where it is to be asked for */
export async function serverFolder(folder: string, name: string, teardown: Teardown): Promise<string> {
  const wanted = join(folder, name);
  await teardown.start(prepareServerFolder(wanted), ({ path }) => remove(path));
  return wanted;
}

async function remove(path: string): Promise<void> {
  await rm(path, { recursive: true, force: true });
}
