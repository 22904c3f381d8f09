import { createHash, randomBytes } from 'node:crypto';
import { constants } from 'node:fs';
import {
  chmod,
  copyFile,
  lstat,
  mkdir,
  open,
  readdir,
  readFile,
  readlink,
  rename,
  rm,
  symlink,
  writeFile,
} from 'node:fs/promises';
import { dirname, join } from 'node:path';

/** Makes `open` fail for symbolic links. Windows has no such flag. */
export const NO_FOLLOW = process.platform === 'win32' ? 0 : constants.O_NOFOLLOW;

export interface Owner {
  readonly uid: number;
  readonly gid: number;
}

interface ReplaceFileOptions {
  readonly mode: number;
  /** Defaults to the current user. */
  readonly owner?: Owner | undefined;
}

/**
 * Writes a file atomically. Safe for root in a folder of another user, because a symbolic link in its place is replaced and its target stays
 * unchanged.
 */
export async function replaceFile(
  path: string,
  content: string | Buffer,
  { mode, owner }: ReplaceFileOptions,
): Promise<void> {
  const partial = `${path}.${randomBytes(8).toString('hex')}`;
  const file = await open(partial, 'wx', 0o600);
  try {
    await file.writeFile(content);
    if (owner !== undefined) await file.chown(owner.uid, owner.gid);
    await file.chmod(mode);
    await file.sync();
    await file.close();
    await rename(partial, path);
  } catch (error) {
    await file.close();
    await rm(partial, { force: true });
    throw error;
  }
}

/** Copies a file or folder atomically so that every user can read it. An existing copy stays. */
export async function copyOnce(from: string, to: string): Promise<void> {
  if (await exists(to)) return;
  const partial = await copyBeside(from, to);
  // Another process may have created the copy first.
  await rename(partial, to).catch(async () => rm(partial, { recursive: true, force: true }));
}

/** Copies a file or folder that may change. Replaces an existing copy if names, sizes or times differ. */
export async function copyIfChanged(from: string, to: string): Promise<void> {
  const stampFile = `${to}.stamp`;
  const hash = createHash('sha256');
  await describe(from, (line) => hash.update(line));
  const stamp = hash.digest('hex');
  if ((await exists(to)) && (await readFile(stampFile, 'utf8').catch(() => '')) === stamp) return;
  const partial = await copyBeside(from, to);
  await rm(to, { recursive: true, force: true });
  await rename(partial, to);
  await writeFile(stampFile, stamp);
}

async function copyBeside(from: string, to: string): Promise<string> {
  const partial = `${to}.${process.pid}`;
  await makeFolderForAll(dirname(to));
  await rm(partial, { recursive: true, force: true });
  await copy(from, partial);
  return partial;
}

/** Creates a folder and missing parents. All users can read them, regardless of the umask. */
export async function makeFolderForAll(path: string): Promise<void> {
  if (await exists(path)) return;
  await makeFolderForAll(dirname(path));
  await mkdir(path, { recursive: true });
  await chmod(path, 0o755);
}

async function copy(from: string, to: string): Promise<void> {
  const info = await lstat(from);
  if (info.isSymbolicLink()) await symlink(await readlink(from), to);
  else if (info.isDirectory()) {
    await mkdir(to);
    await Promise.all((await readdir(from)).map((name) => copy(join(from, name), join(to, name))));
    await chmod(to, 0o755);
  } else {
    await copyFile(from, to);
    await chmod(to, (info.mode & 0o111) === 0 ? 0o644 : 0o755);
  }
}

async function describe(path: string, note: (line: string) => void): Promise<void> {
  const info = await lstat(path);
  note(`${path} ${info.isDirectory() ? '' : `${info.size} ${info.mtimeMs}`}\n`);
  if (!info.isDirectory()) return;
  for (const name of (await readdir(path)).toSorted()) await describe(join(path, name), note);
}

export async function exists(path: string): Promise<boolean> {
  return lstat(path).then(
    () => true,
    () => false,
  );
}
