import { EmbeddedError } from '../embedded-error.ts';
import { findRedisServer } from '../redis.ts';
import { installByApt } from './install-by-apt.ts';

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
