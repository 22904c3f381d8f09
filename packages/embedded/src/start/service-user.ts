import { readdir, readFile, realpath, stat } from 'node:fs/promises';
import { basename, dirname, join, relative, resolve, sep } from 'node:path';
import { EmbeddedError } from '../embedded-error.ts';
import { copyIfChanged, copyOnce, type Owner, replaceFile } from '../files.ts';
import { isReachable, isRoot, prepareServerFolder, systemFolder, systemName } from '../server-folder.ts';

/** Parts of a workspace that are needed to run it. */
const RUNNING_PARTS = ['package.json', 'dist', 'node_modules'];

/**
 * Copies services and their dependencies to a folder that every user can read, for a checkout that only root can read.
 * @param root the checkout
 * @param services folders relative to the checkout
 * @returns the copy of the checkout
 */
async function copyApp(root: string, services: readonly string[]): Promise<string> {
  const target = await systemFolder(systemName('app', root));
  const store = join(root, 'node_modules', '.pnpm') + sep;
  const open = await Promise.all(services.map((service) => realpath(join(root, service))));
  const seen = new Set<string>();
  for (let path = open.pop(); path !== undefined; path = open.pop()) {
    if (seen.has(path)) continue;
    seen.add(path);
    if (path.startsWith(store)) {
      // pnpm links a package's dependencies next to it.
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

/** Packages in a `node_modules` folder, including scoped packages. */
async function linkNames(folder: string): Promise<string[]> {
  const names = (await readdir(folder)).filter((name) => !name.startsWith('.'));
  const found = await Promise.all(
    names.map(async (name) =>
      name.startsWith('@') ? (await readdir(join(folder, name))).map((inner) => `${name}/${inner}`) : [name],
    ),
  );
  return found.flat();
}

async function dependenciesOf(workspace: string): Promise<string[]> {
  const { dependencies = {} } = JSON.parse(await readFile(join(workspace, 'package.json'), 'utf8')) as {
    dependencies?: Readonly<Record<string, string>>;
  };
  return Object.keys(dependencies);
}

const FILE_SETTINGS = ['CHECK_CA_FILE', 'WEBHOOK_CA_FILE', 'NODE_EXTRA_CA_CERTS'];
/** URLs of PostgreSQL may contain paths: `?sslrootcert=/etc/…`. */
const URL_SETTING = /^(DATABASE_URL|DATABASE_DIRECT_URL|QUEUE_URL(_.+)?)$/;
const FILE_PARAMETER = /([?&](sslrootcert|sslcert|sslkey)=)([^&]+)/g;

export interface ServiceUser {
  /** Undefined for the current user. */
  readonly owner: Owner | undefined;
  readonly node: string;
  /** The checkout or a copy. */
  readonly root: string;
  readonly env: NodeJS.ProcessEnv;
}

export interface ServiceUserOptions {
  /** The checkout. */
  readonly root: string;
  /** Folders of the services, relative to the checkout. */
  readonly services: readonly string[];
  readonly dataDir: string;
  readonly env: NodeJS.ProcessEnv;
  /** Defaults to the current Node.js. */
  readonly node?: string;
}

/**
 * Prepares an unprivileged user. For root, the services run as `nobody`, like PostgreSQL and Redis. Files that this user cannot read are
 * copied to folders of root below `/var/lib/tocsin`. Only this user can read copies of certificates and keys.
 * @throws EmbeddedError
 */
export async function prepareServiceUser(options: ServiceUserOptions): Promise<ServiceUser> {
  const { root, services, dataDir, env, node = process.execPath } = options;
  if (!isRoot()) return { owner: undefined, node, root, env };
  const { path: home, owner } = await prepareServerFolder(join(dataDir, 'services'));
  if (owner === undefined) throw new EmbeddedError(`No user owns the folder of the services, ${home}`);
  const mayRead = async (path: string): Promise<boolean> => isReadable(path, owner);
  try {
    const entries = services.map((service) => join(root, service, 'dist', 'main.js'));
    const readable = await Promise.all([...entries, join(root, 'node_modules', '.pnpm')].map(mayRead));
    return {
      owner,
      node: (await mayRead(node)) ? node : await copyNode(node),
      root: readable.every(Boolean) ? root : await copyApp(root, services),
      env: {
        ...env,
        HOME: home,
        ...(await readableFiles(env, home, owner)),
        ...(await readableDashboard(env['DASHBOARD_DIR'], mayRead)),
      },
    };
  } catch (error) {
    throw new EmbeddedError(
      `Could not prepare a user for the services (${error instanceof Error ? error.message : String(error)}). Start Tocsin as a user other than root.`,
      { cause: error },
    );
  }
}

async function copyNode(node: string): Promise<string> {
  const copy = join(await systemFolder('node'), `${basename(node)}-${process.version}-${process.arch}`);
  await copyOnce(node, copy);
  return copy;
}

async function readableDashboard(
  folder: string | undefined,
  mayRead: (path: string) => Promise<boolean>,
): Promise<NodeJS.ProcessEnv> {
  if (folder === undefined || folder === '' || (await mayRead(join(folder, 'index.html')))) return {};
  const copy = await systemFolder(systemName('dashboard', folder));
  await copyIfChanged(folder, copy);
  return { DASHBOARD_DIR: copy };
}

/** Settings with paths, in which copies replace unreadable files. */
async function readableFiles(env: NodeJS.ProcessEnv, home: string, owner: Owner): Promise<NodeJS.ProcessEnv> {
  const changed: NodeJS.ProcessEnv = {};
  const copyFor = async (name: string, file: string): Promise<string> => {
    if (await isReadable(file, owner)) return resolve(file);
    const copy = join(await systemFolder(systemName('files', home)), name);
    await replaceFile(copy, await readFile(file), { mode: 0o400, owner });
    return copy;
  };
  for (const name of FILE_SETTINGS) {
    const file = env[name] ?? '';
    if (file !== '') changed[name] = await copyFor(name, file);
  }
  for (const name of Object.keys(env).filter((key) => URL_SETTING.test(key))) {
    let url = env[name] ?? '';
    for (const [found, start = '', parameter = '', file = ''] of url.matchAll(FILE_PARAMETER)) {
      const copy = await copyFor(`${name}-${parameter}`, decodeURIComponent(file));
      url = url.replace(found, () => start + encodeURIComponent(copy));
    }
    if (url !== '') changed[name] = url;
  }
  return changed;
}

/** True if the user may read a file or folder. Also true for a missing path, which the service reports. */
async function isReadable(givenPath: string, owner: Owner): Promise<boolean> {
  const path = await realpath(givenPath).catch(() => null);
  if (path === null) return true;
  const { uid, gid, mode } = await stat(path);
  const bit = uid === owner.uid ? 0o400 : gid === owner.gid ? 0o040 : 0o004;
  return (mode & bit) !== 0 && isReachable(dirname(path), owner);
}
