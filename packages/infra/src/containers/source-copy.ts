import { execFile } from 'node:child_process';
import { cp, mkdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { ROOT } from '../repository.ts';

const execute = promisify(execFile);
const MAX_OUTPUT_BYTES = 64 * 1024 * 1024;

/** Copies what git would commit of the work tree, so that a build sees what a clone would have. */
export async function copyWorkTree(folder: string): Promise<void> {
  const { stdout } = await git('ls-files', '-z', '--cached', '--others', '--exclude-standard');
  for (const file of stdout.split('\0')) {
    if (file === '') continue;
    await mkdir(dirname(join(folder, file)), { recursive: true });
    await cp(join(ROOT, file), join(folder, file), { verbatimSymlinks: true }).catch((error: unknown) => {
      // Deleted, and not committed yet.
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    });
  }
}

/** Extracts the files of a commit. */
export async function copyCommit(ref: string, folder: string): Promise<void> {
  await mkdir(folder, { recursive: true });
  await execute('sh', ['-euc', 'git -C "$1" archive "$2" | tar -x -C "$3"', 'sh', ROOT, ref, folder]);
}

/**
 * The commit to upgrade from: the last release before this one, else the last commit before a migration was added, so that the upgrade has
 * something to migrate.
 * @throws Error where the history is too short
 */
export async function findPreviousCommit(): Promise<string> {
  const release = await git('describe', '--tags', '--abbrev=0', '--match', 'v*', 'HEAD~1').catch(() => null);
  if (release !== null) return release.stdout.trim();
  const migrations = 'packages/db/migrations/*.sql';
  const added = await git('log', '-1', '--diff-filter=A', '--format=%H', '--', migrations);
  const { stdout } = await git('rev-parse', '--verify', `${added.stdout.trim()}~1`);
  return stdout.trim();
}

function git(...args: string[]): Promise<{ readonly stdout: string }> {
  return execute('git', args, { cwd: ROOT, maxBuffer: MAX_OUTPUT_BYTES });
}
