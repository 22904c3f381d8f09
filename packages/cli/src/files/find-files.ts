import type { Dirent } from 'node:fs';
import { readdir, realpath, stat } from 'node:fs/promises';
import { join, relative, resolve } from 'node:path';
import { CliError } from '../terminal/cli-error.ts';

const DEFAULT_FILES = ['tocsin.yaml', 'tocsin.yml'];
const YAML = /\.ya?ml$/i;

/**
 * The files that paths name, by name: of a folder those that end in .yaml or .yml, at any depth, without hidden ones.
 * @param paths none: `tocsin.yaml` of the working directory
 * @throws CliError where there is none
 */
export async function findFiles(paths: readonly string[], cwd: string): Promise<string[]> {
  if (paths.length === 0) return [await findDefault(cwd)];
  const found = await Promise.all(paths.map((path) => findIn(resolve(cwd, path), path)));
  return [...new Set(found.flat())].map((file) => relative(cwd, file) || file);
}

async function findDefault(cwd: string): Promise<string> {
  for (const name of DEFAULT_FILES) if ((await kindOf(join(cwd, name))) === 'file') return name;
  throw new CliError('There is no tocsin.yaml here: name a file or a folder with -f.');
}

async function findIn(path: string, named: string): Promise<string[]> {
  const kind = await kindOf(path);
  if (kind === null) throw new CliError(`There is no file or folder ${named}.`);
  if (kind === 'file') return [path];
  const files = (await walk(path, new Set())).toSorted((one, other) => (one < other ? -1 : 1));
  if (files.length === 0) throw new CliError(`There is no .yaml file in ${named}.`);
  return files;
}

/**
 * Links are followed, each folder once: a mounted ConfigMap is made of nothing else. One that leads nowhere is said when it is read: what
 * is left out in silence would be pruned.
 */
async function walk(folder: string, seen: Set<string>): Promise<string[]> {
  const real = await realpath(folder);
  if (seen.has(real)) return [];
  seen.add(real);
  const files: string[] = [];
  for (const entry of await readdir(folder, { withFileTypes: true })) {
    if (/^\.|^node_modules$/.test(entry.name)) continue;
    const path = join(folder, entry.name);
    const kind = await kindOfEntry(entry, path);
    if (kind === 'folder') files.push(...(await walk(path, seen)));
    else if (kind === 'file' && YAML.test(entry.name)) files.push(path);
  }
  return files;
}

type Kind = 'file' | 'folder';

async function kindOfEntry(entry: Dirent, path: string): Promise<Kind | null> {
  if (entry.isSymbolicLink()) return (await kindOf(path)) ?? 'file';
  if (entry.isDirectory()) return 'folder';
  return entry.isFile() ? 'file' : null;
}

async function kindOf(path: string): Promise<Kind | null> {
  try {
    return (await stat(path)).isDirectory() ? 'folder' : 'file';
  } catch {
    return null;
  }
}
