import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { isRoot } from '../server-folder.ts';

const APT = '/usr/bin/apt-get';

/**
 * Installs a package of Debian's where that needs no question: as root, or where sudo asks none.
 * @param begin called before it is installed
 * @returns false where it cannot be tried @throws what apt-get failed with
 */
export function installByApt(name: string, begin: () => void): boolean {
  const prefix = isRoot() ? [] : ['sudo', '-n'];
  if (!existsSync(APT) || (prefix.length > 0 && spawnSync('sudo', ['-n', 'true']).status !== 0)) return false;
  begin();
  const asRoot = (args: readonly string[]): void => {
    const [file = APT, ...rest] = [...prefix, 'env', 'DEBIAN_FRONTEND=noninteractive', APT, ...args];
    execFileSync(file, rest, { stdio: 'pipe' });
  };
  asRoot(['update']);
  asRoot(['install', '-y', '--no-install-recommends', name]);
  return true;
}
