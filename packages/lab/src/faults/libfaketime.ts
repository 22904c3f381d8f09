import { existsSync, readdirSync } from 'node:fs';
import { NotPermittedError } from '@tocsin/embedded/program/run-program';
import { installByApt } from '@tocsin/embedded/test-run/programs';

const LIBRARIES = '/usr/lib';
/** The variant for programs with threads. */
const NAME = 'libfaketimeMT.so.1';

function findLibfaketime(): string | undefined {
  const folders = ['', ...readdirSync(LIBRARIES)].map((folder) => `${LIBRARIES}/${folder}/faketime/${NAME}`);
  return folders.find((file) => existsSync(file));
}

/** Finds or installs the library, which changes the clock of a process. @throws NotPermittedError */
export function ensureLibfaketime(say: (line: string) => void): string {
  const found = findLibfaketime();
  if (found !== undefined) return found;
  try {
    installByApt('libfaketime', () => say('Installing libfaketime …'));
  } catch (error) {
    say(`apt-get could not install libfaketime: ${String(error)}`);
  }
  const installed = findLibfaketime();
  if (installed !== undefined) return installed;
  throw new NotPermittedError(
    'Clock faults need libfaketime. Install it (Debian: apt-get install libfaketime).',
  );
}

/** Returns environment variables for a process whose clock is off by this many seconds. The monotonic clock stays right. */
export function clockOff(library: string, offsetSeconds: number): Record<string, string> {
  const FAKETIME = `${offsetSeconds > 0 ? '+' : ''}${offsetSeconds}s`;
  return { LD_PRELOAD: library, FAKETIME, DONT_FAKE_MONOTONIC: '1' };
}
