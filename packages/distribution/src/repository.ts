import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { UsageError } from '@tocsin/embedded/program/run-program';
import { runTool } from './run-tool.ts';

/** The root of the repository, with a slash at its end. */
export const ROOT = fileURLToPath(new URL('../../../', import.meta.url));

/** @param path from the root of the repository */
export function readRepositoryFile(path: string): Promise<string> {
  return readFile(ROOT + path, 'utf8');
}

/** Reads the block of a document that contains this command. Ignores blocks with a language. @throws Error if there is none */
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
  const workspaces = await git('ls-files', 'packages/*/package.json', 'services/*/package.json');
  return Promise.all(
    ['package.json', ...workspaces].map(async (path) => [
      path,
      JSON.parse(await readRepositoryFile(path)) as Manifest,
    ]),
  );
}

/** Runs git in the repository. @returns the lines of output @throws ToolError */
async function git(...args: string[]): Promise<string[]> {
  const { stdout } = await runTool('git', args, { cwd: ROOT });
  return stdout.split('\n').filter((line) => line !== '');
}

/** Returns the first line of git's output, or undefined if git fails. */
function tryGit(...args: string[]): Promise<string | undefined> {
  return git(...args).then(
    ([line]) => line,
    () => undefined,
  );
}

/** Copies the files that a clone would have if everything in the work tree were committed. */
export async function copyWorkTree(folder: string): Promise<void> {
  const list = 'git ls-files -z --cached --others --exclude-standard';
  await copyArchive(`${list} | tar -c --null -T - --ignore-failed-read`, folder);
}

/** Copies the files of a commit. */
export async function copyCommit(commit: string, folder: string): Promise<void> {
  await copyArchive(`git archive ${commit}`, folder);
}

/** @param archive a shell command that prints a tar archive */
async function copyArchive(archive: string, folder: string): Promise<void> {
  const script = `mkdir -p "$0" && ${archive} | tar -x -C "$0"`;
  await runTool('sh', ['-euc', script, folder], { cwd: ROOT });
}

/**
 * Finds the commit to upgrade from: the last release, the commit before the last migration, or the last change of the first migration. Only
 * a database that was created with the current first migration can be upgraded.
 * @throws UsageError if there is none
 */
export async function findPreviousCommit(): Promise<string> {
  const migrations = 'packages/db/migrations/*.sql';
  // Skips the commits of merged branches, which may not build.
  const log = ['log', '--first-parent', '-m', '-1', '--format=%H'];
  const first = (await tryGit('ls-files', migrations)) ?? '';
  const content = await tryGit('hash-object', first);
  const candidates = [
    await tryGit('describe', '--tags', '--abbrev=0', '--match', 'v*', 'HEAD~1'),
    `${await tryGit(...log, '--diff-filter=A', '--', migrations)}~1`,
    await tryGit(...log, '--', first),
  ];
  for (const candidate of candidates) {
    const commit = await tryGit('rev-parse', '--verify', candidate ?? '');
    if (commit && content && (await tryGit('rev-parse', '--verify', `${commit}:${first}`)) === content)
      return commit;
  }
  throw new UsageError(
    'The history has no commit to upgrade from. Run `git fetch --unshallow --tags`, or pass --previous COMMIT',
  );
}
