import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { makeFolder, prepareServerFolder } from '@tocsin/embedded/server-folder';
import type { Teardown } from './teardown.ts';

/** A new folder below `DATA_DIR`, which servers of another user can pass through. It goes at the end. */
export async function openFolder(name: string, teardown: Teardown): Promise<string> {
  return teardown.start(createFolder(name), remove);
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
