import { cp, mkdir, readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { UsageError } from '@tocsin/embedded/program/run-program';
import { runTool } from './run-tool.ts';

/** The root of the repository, with a slash at its end. */
export const ROOT = fileURLToPath(new URL('../../../', import.meta.url));

/** The text of a file, by its path from the root of the repository. */
export function readRepositoryFile(path: string): Promise<string> {
  return readFile(ROOT + path, 'utf8');
}

/**
 * Reads a block of commands of a document, as a reader copies them. Blocks with a language are none.
 * @param command that the block contains
 * @throws Error where no block does
 */
export async function readCommands(document: string, command: string): Promise<string> {
  const blocks = (await readRepositoryFile(document)).matchAll(/^```(\w*)\n(.*?)^```$/gms);
  for (const [, language, text = ''] of blocks) if (language === '' && text.includes(command)) return text;
  throw new Error(`${document} has no block with \`${command}\``);
}

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
  await runTool('sh', ['-euc', 'git -C "$1" archive "$2" | tar -x -C "$3"', 'sh', ROOT, ref, folder]);
}

/**
 * The commit to upgrade from: the last release before this one, else the last commit before a migration was added, so that the upgrade has
 * something to migrate.
 * @throws UsageError where the history is too short
 */
export async function findPreviousCommit(): Promise<string> {
  try {
    const release = await git('describe', '--tags', '--abbrev=0', '--match', 'v*', 'HEAD~1').catch(
      () => null,
    );
    if (release !== null) return release.stdout.trim();
    const migrations = 'packages/db/migrations/*.sql';
    const added = await git('log', '-1', '--diff-filter=A', '--format=%H', '--', migrations);
    const { stdout } = await git('rev-parse', '--verify', `${added.stdout.trim()}~1`);
    return stdout.trim();
  } catch (cause) {
    const message =
      'The history has no commit to upgrade from. Run `git fetch --unshallow --tags`, or pass --previous COMMIT';
    throw new UsageError(message, { cause });
  }
}

function git(...args: string[]): Promise<{ readonly stdout: string }> {
  return runTool('git', args, { cwd: ROOT });
}
