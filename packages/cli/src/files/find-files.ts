import { readdir, realpath, stat } from 'node:fs/promises';
import { join, relative, resolve } from 'node:path';
import { CliError } from '../terminal/cli-error.ts';
import { STDIN } from '../terminal/text-file.ts';

const DEFAULT_FILES = ['tocsin.yaml', 'tocsin.yml'];
const YAML = /\.ya?ml$/i;

/**
 * Resolves paths to files, sorted by name. `-` is standard input. A folder includes its .yaml and .yml files at any depth, except hidden
 * ones.
 * @param paths if empty, `tocsin.yaml` in the working directory
 * @throws CliError if a path does not exist or contains no file
 */
export async function findFiles(paths: readonly string[], cwd: string): Promise<string[]> {
  if (paths.length === 0) {
    for (const name of DEFAULT_FILES) if ((await kindOf(join(cwd, name))) === 'file') return [name];
    throw new CliError('There is no tocsin.yaml in this folder. Name a file or a folder with -f.');
  }
  const found = await Promise.all(paths.map((path) => findIn(resolve(cwd, path), path)));
  return [...new Set(found.flat())].map((file) => (file === STDIN.path ? file : relative(cwd, file) || file));
}

async function findIn(path: string, shown: string): Promise<string[]> {
  if (shown === STDIN.path) return [shown];
  const kind = await kindOf(path);
  if (kind === null) throw new CliError(`There is no file or folder ${shown}.`);
  if (kind === 'file') return [path];
  const files = (await walk(path, new Set())).toSorted((one, other) => (one < other ? -1 : 1));
  if (files.length === 0) throw new CliError(`There is no .yaml file in ${shown}.`);
  return files;
}

/**
 * Follows links, because a mounted ConfigMap consists of links, and visits each folder once. A broken link counts as a file, so that reading
 * it fails. Skipping it would prune its monitors.
 */
async function walk(folder: string, seen: Set<string>): Promise<string[]> {
  const real = await realpath(folder);
  if (seen.has(real)) return [];
  seen.add(real);
  const files: string[] = [];
  for (const entry of await readdir(folder, { withFileTypes: true })) {
    if (/^\.|^node_modules$/.test(entry.name)) continue;
    const path = join(folder, entry.name);
    const kind = entry.isSymbolicLink() ? await kindOf(path) : entry.isDirectory() ? 'folder' : null;
    if (kind === 'folder') files.push(...(await walk(path, seen)));
    else if ((entry.isFile() || entry.isSymbolicLink()) && YAML.test(entry.name)) files.push(path);
  }
  return files;
}

/** True if any path is a folder. */
export async function includesFolder(paths: readonly string[], cwd: string): Promise<boolean> {
  const kinds = await Promise.all(paths.map((path) => kindOf(resolve(cwd, path))));
  return kinds.includes('folder');
}

async function kindOf(path: string): Promise<'file' | 'folder' | null> {
  return stat(path).then(
    (found) => (found.isDirectory() ? 'folder' : 'file'),
    () => null,
  );
}
