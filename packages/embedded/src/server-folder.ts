import { spawnSync } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import { access, chmod, chown, constants, mkdir, readdir, readFile, stat } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import { errorCode } from '@tocsin/runtime/error-code';
import { EmbeddedError } from './embedded-error.ts';
import { makeFolderForAll, NO_FOLLOW, type Owner, replaceFile } from './files.ts';

/** Root's folder for data that `nobody` cannot access elsewhere, such as data in a home folder. */
const SYSTEM_FOLDER = '/var/lib/tocsin';
const RELOCATED = 'data-';

export interface ServerFolder {
  readonly path: string;
  /** Undefined for the current user. */
  readonly owner: Owner | undefined;
}

export function isRoot(): boolean {
  return process.getuid?.() === 0;
}

/**
 * Creates a folder if needed and makes it accessible to the server. For root, the server runs as `nobody`, or as the owner of existing data.
 * If that user cannot access the folder, the data goes to `/var/lib/tocsin`, and the file `location` in the folder contains its path.
 * @throws EmbeddedError if the current user cannot access the folder
 */
export async function prepareServerFolder(requestedPath: string): Promise<ServerFolder> {
  const path = resolve(requestedPath);
  try {
    await makeFolder(path);
    await access(path, constants.R_OK | constants.W_OK | constants.X_OK);
    if (!isRoot()) return { path, owner: undefined };
    const owner = await serverOwner(path);
    const reachable = (await isReachable(dirname(path), owner)) ? path : await relocate(path);
    await chown(reachable, owner.uid, owner.gid);
    await chmod(reachable, 0o700);
    return { path: reachable, owner };
  } catch (error) {
    throw new EmbeddedError(
      `The data folder ${path} cannot be used (${errorCode(error) ?? String(error)}). Make it readable and writable, or set DATA_DIR to another folder.`,
      { cause: error },
    );
  }
}

/** Returns the owner of existing data or `nobody`, because PostgreSQL does not run as root. */
async function serverOwner(path: string): Promise<Owner> {
  const { uid, gid } = await stat(path);
  const entries = await readdir(path, { withFileTypes: true });
  // initdb needs a user that exists in the system.
  const usable =
    uid !== 0 && (entries.some((entry) => entry.isDirectory()) || idOf('-u', String(uid)) === uid);
  if (usable) return { uid, gid };
  return { uid: idOf('-u', 'nobody') ?? 65_534, gid: idOf('-g', 'nobody') ?? 65_534 };
}

function idOf(kind: '-u' | '-g', user: string): number | undefined {
  const result = spawnSync('id', [kind, user], { encoding: 'utf8' });
  return result.status === 0 ? Number.parseInt(result.stdout, 10) : undefined;
}

/** Creates a folder and its parents. Node's recursive mkdir hangs on file systems without new folders, such as /proc. */
export async function makeFolder(path: string): Promise<void> {
  try {
    await mkdir(path);
  } catch (error) {
    if (errorCode(error) === 'EEXIST') return;
    if (errorCode(error) !== 'ENOENT' || (await isFolder(dirname(path)))) throw error;
    await makeFolder(dirname(path));
    await mkdir(path);
  }
}

async function isFolder(path: string): Promise<boolean> {
  return stat(path).then(
    (found) => found.isDirectory(),
    () => false,
  );
}

/** True if the user may access the folder and all of its parents. */
export async function isReachable(folder: string, owner: Owner): Promise<boolean> {
  const { uid, gid, mode } = await stat(folder);
  const bit = uid === owner.uid ? 0o100 : gid === owner.gid ? 0o010 : 0o001;
  if ((mode & bit) === 0) return false;
  const parent = dirname(folder);
  return parent === folder || isReachable(parent, owner);
}

/** Creates a folder that only root can write and every user can read. */
export async function systemFolder(name: string): Promise<string> {
  const path = join(SYSTEM_FOLDER, name);
  await makeFolderForAll(path);
  return path;
}

/** Name in the system folder for data of a path. */
export function systemName(kind: string, path: string): string {
  return `${kind}-${createHash('sha256').update(path).digest('hex').slice(0, 12)}`;
}

async function relocate(path: string): Promise<string> {
  const known = await relocatedFolder(path);
  if (known !== null && (await isWritable(known))) return known;
  const fresh = await systemFolder(`${RELOCATED}${randomBytes(6).toString('hex')}`);
  await replaceFile(join(path, 'location'), `${fresh}\n`, { mode: 0o644 });
  return fresh;
}

/** Folder of relocated data, or null if the data was not relocated. */
export async function relocatedFolder(path: string): Promise<string | null> {
  const text = (await readFile(join(path, 'location'), 'utf8').catch(() => '')).trim();
  // Accepts only folders that `relocate` created, because another user may have written the file.
  return dirname(text) === SYSTEM_FOLDER && basename(text).startsWith(RELOCATED) ? text : null;
}

async function isWritable(path: string): Promise<boolean> {
  return access(path, constants.W_OK).then(
    () => true,
    () => false,
  );
}

/** Reads a secret from a file, or creates it. Only the current user can read the file. */
export async function keepSecret(
  file: string,
  create = (): string => randomBytes(24).toString('hex'),
): Promise<string> {
  try {
    const flag = constants.O_RDONLY | NO_FOLLOW;
    const known = (await readFile(file, { encoding: 'utf8', flag })).trim();
    if (known !== '') return known;
  } catch (error) {
    if (errorCode(error) !== 'ENOENT') throw error;
  }
  const fresh = create();
  await replaceFile(file, `${fresh}\n`, { mode: 0o600 });
  return fresh;
}
