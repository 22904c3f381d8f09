import { spawnSync } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import { access, chmod, chown, constants, mkdir, readdir, readFile, stat } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import { errorCode } from '@tocsin/runtime/error-code';
import { EmbeddedError } from './embedded-error.ts';
import { makeFolderForAll, NO_FOLLOW, replaceFile } from './files.ts';

/** Where root keeps what nobody must reach and cannot reach below, say, a home folder. */
const SYSTEM_FOLDER = '/var/lib/tocsin';
const RELOCATED = 'data-';

/** The user a server process has to run as; absent: ours. */
export interface Owner {
  readonly uid: number;
  readonly gid: number;
}

/** A folder for the data of one server, ready for its user. */
export interface ServerFolder {
  readonly path: string;
  readonly owner: Owner | undefined;
}

export function isRoot(): boolean {
  return process.getuid?.() === 0;
}

/**
 * Makes sure that the folder exists and that the server can use it. As root, the server runs as nobody (or as the user
 * that owns the data already); where that user cannot get to the folder, its data goes below `/var/lib/tocsin` and the folder
 * keeps a note of where. Throws an `EmbeddedError` if the folder is out of reach for us.
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
      `The data folder ${path} cannot be used (${errorCode(error) ?? String(error)}): make it readable and writable for you, or set DATA_DIR to another folder`,
      { cause: error },
    );
  }
}

/** As root: the user who owns the data already, else nobody, since PostgreSQL refuses root. */
async function serverOwner(path: string): Promise<Owner> {
  const { uid, gid } = await stat(path);
  const entries = await readdir(path, { withFileTypes: true });
  // A new cluster can only be made for a user that the system knows.
  const usable =
    uid !== 0 && (entries.some((entry) => entry.isDirectory()) || idOf('-u', String(uid)) === uid);
  if (usable) return { uid, gid };
  return { uid: idOf('-u', 'nobody') ?? 65_534, gid: idOf('-g', 'nobody') ?? 65_534 };
}

function idOf(kind: '-u' | '-g', user: string): number | undefined {
  const result = spawnSync('id', [kind, user], { encoding: 'utf8' });
  return result.status === 0 ? Number.parseInt(result.stdout, 10) : undefined;
}

/** Makes the folder and those above it. Node's own recursive mkdir never ends where a file system has no room for new ones. */
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

/** Whether this user may pass through the folder and all above it. */
export async function isReachable(folder: string, owner: Owner): Promise<boolean> {
  const { uid, gid, mode } = await stat(folder);
  const bit = uid === owner.uid ? 0o100 : gid === owner.gid ? 0o010 : 0o001;
  if ((mode & bit) === 0) return false;
  const parent = dirname(folder);
  return parent === folder || isReachable(parent, owner);
}

/** A folder that only root can write to and everybody can read. */
export async function systemFolder(name: string): Promise<string> {
  const path = join(SYSTEM_FOLDER, name);
  await makeFolderForAll(path);
  return path;
}

/** A name below the system folder for what belongs to a path. */
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

/** Where the data of a server folder was relocated to; null if it was not. */
export async function relocatedFolder(path: string): Promise<string | null> {
  const text = (await readFile(join(path, 'location'), 'utf8').catch(() => '')).trim();
  // Nothing but a folder that `relocate` made: the file may have been written by anybody.
  return dirname(text) === SYSTEM_FOLDER && basename(text).startsWith(RELOCATED) ? text : null;
}

async function isWritable(path: string): Promise<boolean> {
  return access(path, constants.W_OK).then(
    () => true,
    () => false,
  );
}

/** A value of this folder that is made once and then kept, readable for us only. */
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

/** The port in this file, if it is there. */
export async function rememberedPort(file: string): Promise<number | undefined> {
  const text = await readFile(file, 'utf8').catch(() => '');
  const port = Number.parseInt(text, 10);
  return port > 0 && port < 65_536 ? port : undefined;
}
