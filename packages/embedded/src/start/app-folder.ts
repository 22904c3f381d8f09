import { readdir, readFile, realpath } from 'node:fs/promises';
import { join, relative, sep } from 'node:path';
import { copyIfChanged, copyOnce } from '../readable-copy.ts';
import { systemFolder, systemName } from '../server-folder.ts';

/** What a workspace of ours is run from; the rest of it is sources. */
const RUNNING_PARTS = ['package.json', 'dist', 'node_modules'];

/**
 * Copies services with everything they load to a folder that every user can read, for a checkout that only root can read.
 * @param root the checkout
 * @param services folders, relative to it
 * @returns what stands for the checkout
 */
export async function copyApp(root: string, services: readonly string[]): Promise<string> {
  const target = await systemFolder(systemName('app', root));
  const store = join(root, 'node_modules', '.pnpm') + sep;
  const open = await Promise.all(services.map((service) => realpath(join(root, service))));
  const seen = new Set<string>();
  for (let path = open.pop(); path !== undefined; path = open.pop()) {
    if (seen.has(path)) continue;
    seen.add(path);
    if (path.startsWith(store)) {
      // Beside a package in pnpm's store are links to those that it uses.
      const folder =
        path.slice(0, path.indexOf(`${sep}node_modules${sep}`, store.length)) + `${sep}node_modules`;
      await copyOnce(folder, join(target, relative(root, folder)));
      open.push(...(await resolveAll(folder, await linkNames(folder))));
    } else {
      for (const part of RUNNING_PARTS)
        await copyIfChanged(join(path, part), join(target, relative(root, path), part));
      open.push(...(await resolveAll(join(path, 'node_modules'), await dependenciesOf(path))));
    }
  }
  return target;
}

async function resolveAll(folder: string, names: readonly string[]): Promise<string[]> {
  return Promise.all(names.map((name) => realpath(join(folder, name))));
}

/** Packages of a `node_modules`, those with a scope too. */
async function linkNames(folder: string): Promise<string[]> {
  const names = (await readdir(folder)).filter((name) => !name.startsWith('.'));
  const found = await Promise.all(
    names.map(async (name) =>
      name.startsWith('@') ? (await readdir(join(folder, name))).map((inner) => `${name}/${inner}`) : [name],
    ),
  );
  return found.flat();
}

/** Without those that only its tests need. */
async function dependenciesOf(workspace: string): Promise<string[]> {
  const { dependencies = {} } = JSON.parse(await readFile(join(workspace, 'package.json'), 'utf8')) as {
    dependencies?: Readonly<Record<string, string>>;
  };
  return Object.keys(dependencies);
}
