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

/** The text of the built `rollout/outside.ts`. */
export function readOutsideProgram(): Promise<string> {
  return readRepositoryFile('packages/infra/dist/rollout/outside.js');
}

/** Reads the block of commands in a document that contains this command. A block with a language is none. @throws Error if there is none */
export async function readCommands(document: string, command: string): Promise<string> {
  const blocks = (await readRepositoryFile(document)).matchAll(/^```(\w*)\n(.*?)^```$/gms);
  for (const [, language, text = ''] of blocks) if (language === '' && text.includes(command)) return text;
  throw new Error(`${document} has no block with \`${command}\``);
}

/** Copies the files that a clone would have if everything in the work tree were committed. */
export async function copyWorkTree(folder: string): Promise<void> {
  const args = ['ls-files', '-z', '--cached', '--others', '--exclude-standard'];
  const { stdout } = await runTool('git', args, { cwd: ROOT });
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

/** A commit to upgrade from. */
export interface PreviousCommit {
  readonly commit: string;
  /** A noun phrase. */
  readonly description: string;
}

/**
 * Finds the commit to upgrade from. Only a database that was created with the same first migration can be upgraded. In this order: the last
 * release, the commit before the last migration, so that there is something to migrate, and the commit that wrote the first migration.
 * @throws UsageError if there is none
 */
export async function findPreviousCommit(): Promise<PreviousCommit> {
  const migrations = 'packages/db/migrations/*.sql';
  const [first = ''] = (await git('ls-files', migrations)).split('\n');
  const content = await git('hash-object', first);
  const added = await git('log', '-1', '--diff-filter=A', '--format=%H', '--', migrations);
  const candidates = [
    ['the last release', await git('describe', '--tags', '--abbrev=0', '--match', 'v*', 'HEAD~1')],
    ['the commit before the last migration', await git('rev-parse', '--verify', `${added}~1`)],
    [
      'the commit that wrote the first migration: it has the same schema',
      await git('log', '-1', '--format=%H', '--', first),
    ],
  ] as const;
  for (const [description, commit] of candidates)
    if (commit !== '' && (await git('rev-parse', '--verify', `${commit}:${first}`)) === content)
      return { commit, description };
  throw new UsageError(
    'The history has no commit to upgrade from. Run `git fetch --unshallow --tags`, or pass --previous COMMIT',
  );
}

/** The output of git without the line break at its end; empty if git fails. */
async function git(...args: string[]): Promise<string> {
  return runTool('git', args, { cwd: ROOT }).then(
    ({ stdout }) => stdout.trim(),
    () => '',
  );
}
