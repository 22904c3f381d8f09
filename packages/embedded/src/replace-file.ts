import { randomBytes } from 'node:crypto';
import { constants } from 'node:fs';
import { open, rename, rm } from 'node:fs/promises';
import type { Owner } from './server-folder.ts';

/** For `open`: fails where the path is a symbolic link. Windows has no such flag. */
export const NO_FOLLOW = process.platform === 'win32' ? 0 : constants.O_NOFOLLOW;

interface ReplaceFileOptions {
  readonly mode: number;
  /** Absent: our own user. */
  readonly owner?: Owner | undefined;
}

/**
 * Writes a file as a whole, safe for root in a folder of another user: a symbolic link in its place is replaced, and its target stays as it
 * is.
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
