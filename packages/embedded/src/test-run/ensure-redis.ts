import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { EmbeddedError } from '../embedded-error.ts';
import { findRedisServer } from '../redis.ts';
import { isRoot } from '../server-folder.ts';

const APT = '/usr/bin/apt-get';

/**
 * The tests want a real Redis: finds one, or installs one where that needs no question (root on Debian), or throws an
 * `EmbeddedError`. Never goes on without.
 */
export function ensureRedisForTests(say: (line: string) => void): void {
  if (findRedisServer() !== null) return;
  const canInstall = isRoot() && existsSync(APT);
  if (canInstall) {
    say('Installing redis-server for the tests …');
    const options = { stdio: 'pipe', env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive' } } as const;
    try {
      execFileSync(APT, ['update'], options);
      execFileSync(APT, ['install', '-y', '--no-install-recommends', 'redis-server'], options);
    } catch (error) {
      throw new EmbeddedError('The tests need Redis, and apt-get could not install redis-server', {
        cause: error,
      });
    }
  }
  if (findRedisServer() === null) {
    throw new EmbeddedError(
      'The tests need Redis: install redis-server or valkey-server so that it is on the PATH (e.g. apt-get install redis-server, brew install redis)',
    );
  }
}
