import { readdir, stat } from 'node:fs/promises';
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
  const entries = await readdir(path, { withFileTypes: true, recursive: true });
  const files = entries
    .filter((entry) => entry.isFile() && YAML.test(entry.name))
    .map((entry) => join(entry.parentPath, entry.name))
    .filter((file) => !/(^|[\\/])(\.|node_modules[\\/])/.test(relative(path, file)))
    .toSorted((one, other) => (one < other ? -1 : 1));
  if (files.length === 0) throw new CliError(`There is no .yaml file in ${named}.`);
  return files;
}

async function kindOf(path: string): Promise<'file' | 'folder' | null> {
  try {
    return (await stat(path)).isDirectory() ? 'folder' : 'file';
  } catch {
    return null;
  }
}
