import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { EmbeddedError } from '../embedded-error.ts';
import { findChromium } from '../executables.ts';
import { findRedisServer } from '../redis.ts';
import { isRoot } from '../server-folder.ts';

const APT = '/usr/bin/apt-get';

/**
 * Installs a Debian package as root or with passwordless sudo.
 * @param begin called before the installation
 * @returns false if the installation is not possible @throws the error of apt-get
 */
export function installByApt(name: string, begin: () => void): boolean {
  const prefix = isRoot() ? [] : ['sudo', '-n'];
  if (!existsSync(APT) || (prefix.length > 0 && spawnSync('sudo', ['-n', 'true']).status !== 0)) return false;
  begin();
  const run = (...args: string[]): void => {
    const [file = APT, ...rest] = [...prefix, 'env', 'DEBIAN_FRONTEND=noninteractive', APT, ...args];
    execFileSync(file, rest, { stdio: 'pipe' });
  };
  run('update');
  run('install', '-y', '--no-install-recommends', name);
  return true;
}

/** Finds or installs Redis for the tests. @throws EmbeddedError */
export function ensureRedisForTests(say: (line: string) => void): void {
  ensureProgram({
    find: () => findRedisServer(),
    need: 'The tests need Redis',
    package: 'redis-server',
    hint: 'Install redis-server or valkey-server so that it is on the PATH (e.g. apt-get install redis-server, brew install redis).',
    say,
  });
}

/** Finds or installs Chromium for the browser tests. @returns its path @throws EmbeddedError */
export function ensureChromium(say: (line: string) => void): string {
  return ensureProgram({
    find: () => findChromium(),
    need: 'The browser tests need Chromium',
    package: 'chromium',
    hint: 'Install it so that chromium, chromium-browser or google-chrome is on the PATH (e.g. apt-get install chromium), or set CHROMIUM_PATH to its executable.',
    say,
  });
}

function ensureProgram(program: {
  readonly find: () => string | null;
  readonly need: string;
  readonly package: string;
  readonly hint: string;
  readonly say: (line: string) => void;
}): string {
  const { find, need, hint, say } = program;
  const found = find();
  if (found !== null) return found;
  try {
    installByApt(program.package, () => say(`${need}. Installing ${program.package} …`));
  } catch (cause) {
    throw new EmbeddedError(`${need}, and apt-get could not install ${program.package}.`, { cause });
  }
  const installed = find();
  if (installed === null) throw new EmbeddedError(`${need}. ${hint}`);
  return installed;
}
