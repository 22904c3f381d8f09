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

/** Reads the block of a document that contains this command. Blocks with a language do not count. @throws Error if there is none */
export async function readCommands(document: string, command: string): Promise<string> {
  const blocks = (await readRepositoryFile(document)).matchAll(/^```(\w*)\n(.*?)^```$/gms);
  for (const [, language, text = ''] of blocks) if (language === '' && text.includes(command)) return text;
  throw new Error(`${document} has no block with \`${command}\``);
}

interface Manifest {
  readonly name: string;
  readonly version?: string;
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly devDependencies?: Readonly<Record<string, string>>;
}

/** Each package.json of the repository, with its path. The root comes first. */
export async function readManifests(): Promise<[path: string, Manifest][]> {
  const patterns = [':(glob)packages/*/package.json', ':(glob)services/*/package.json'];
  const paths = ['package.json', ...(await git('ls-files', ...patterns))];
  return Promise.all(
    paths.map(async (path) => [path, JSON.parse(await readRepositoryFile(path)) as Manifest]),
  );
}

/** Runs git in the repository. Returns the lines of its output without empty ones. @throws ToolError */
export async function git(...args: string[]): Promise<string[]> {
  const { stdout } = await runTool('git', args, { cwd: ROOT });
  return stdout
    .split(/[\n\0]/)
    .map((line) => line.trim())
    .filter((line) => line !== '');
}

/** The first line of the output of git; null if git fails or prints nothing. */
export async function tryGit(...args: string[]): Promise<string | null> {
  return git(...args).then(
    ([line]) => line ?? null,
    () => null,
  );
}

/** Copies the files that a clone would have if everything in the work tree were committed. */
export async function copyWorkTree(folder: string): Promise<void> {
  for (const file of await git('ls-files', '-z', '--cached', '--others', '--exclude-standard')) {
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

/** Not the commits of merged branches, which may not build. */
const MAINLINE_ONLY = ['--first-parent', '-m'];

/**
 * Finds the commit to upgrade from. Only a database that was created with the same first migration can be upgraded. In this order:
 * the last release, the commit before the last migration, so that there is something to migrate, and the last commit that changed the
 * first migration.
 * @returns the description is a noun phrase @throws UsageError if there is none
 */
export async function findPreviousCommit(): Promise<{ commit: string; description: string }> {
  const migrations = 'packages/db/migrations/*.sql';
  const first = (await tryGit('ls-files', migrations)) ?? '';
  const content = await tryGit('hash-object', first);
  const added = await tryGit('log', ...MAINLINE_ONLY, '--diff-filter=A', '--format=%H', '--', migrations);
  const candidates = {
    'the last release': await tryGit('describe', '--tags', '--abbrev=0', '--match', 'v*', 'HEAD~1'),
    'the commit before the last migration': await tryGit('rev-parse', '--verify', `${added}~1`),
    'the last change of the first migration': await tryGit(
      'log',
      ...MAINLINE_ONLY,
      '--format=%H',
      '--',
      first,
    ),
  };
  for (const [description, commit] of Object.entries(candidates))
    if (commit !== null && (await tryGit('rev-parse', '--verify', `${commit}:${first}`)) === content)
      return { commit, description };
  throw new UsageError(
    'The history has no commit to upgrade from. Run `git fetch --unshallow --tags`, or pass --previous COMMIT',
  );
}
