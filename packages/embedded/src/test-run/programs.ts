import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { EmbeddedError } from '../embedded-error.ts';
import { findChromium } from '../executables.ts';
import { findRedisServer } from '../redis.ts';
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

/**
 * The tests want a real Redis: finds one, or installs one where that needs no question, or throws an
 * `EmbeddedError`. Never goes on without.
 */
export function ensureRedisForTests(say: (line: string) => void): void {
  if (findRedisServer() !== null) return;
  try {
    installByApt('redis-server', () => say('Installing redis-server for the tests …'));
  } catch (error) {
    throw new EmbeddedError('The tests need Redis, and apt-get could not install redis-server', {
      cause: error,
    });
  }
  if (findRedisServer() === null) {
    throw new EmbeddedError(
      'The tests need Redis: install redis-server or valkey-server so that it is on the PATH (e.g. apt-get install redis-server, brew install redis)',
    );
  }
}

/**
 * The browser tests want a real Chromium: finds one, or installs Debian's where that needs no question, or throws an
 * `EmbeddedError`. Never goes on without. @returns its path
 */
export function ensureChromium(say: (line: string) => void): string {
  const found = findChromium();
  if (found !== null) return found;
  try {
    installByApt('chromium', () => say('Installing chromium for the browser tests …'));
  } catch (error) {
    throw new EmbeddedError('The browser tests need Chromium, and apt-get could not install it', {
      cause: error,
    });
  }
  const installed = findChromium();
  if (installed !== null) return installed;
  throw new EmbeddedError(
    'The browser tests need Chromium: install it so that chromium, chromium-browser or google-chrome is on the PATH (e.g. apt-get install chromium), or set CHROMIUM_PATH to its program',
  );
}
