import { existsSync, readdirSync } from 'node:fs';
import { installByApt } from '@tocsin/embedded/test-run/programs';

const LIBRARIES = '/usr/lib';
/** The variant for programs with threads. */
const NAME = 'libfaketimeMT.so.1';
const MISSING =
  'libfaketime is missing (Debian: apt-get install libfaketime): clock faults count as not fired';

function findLibfaketime(): string | null {
  const folders = ['', ...readdirSync(LIBRARIES)].map((folder) => `${LIBRARIES}/${folder}/faketime/${NAME}`);
  return folders.find((file) => existsSync(file)) ?? null;
}

/** Finds or installs the library. Prints a line and returns null if neither works. */
export function ensureLibfaketime(say: (line: string) => void): string | null {
  if (findLibfaketime() === null) {
    try {
      installByApt('libfaketime', () => say('Installing libfaketime …'));
    } catch (error) {
      say(`apt-get could not install libfaketime: ${String(error)}`);
    }
    if (findLibfaketime() === null) say(MISSING);
  }
  return findLibfaketime();
}

/** Returns settings of a process whose clock is off by this many seconds. The monotonic clock stays right. */
export function clockOff(library: string, offsetSeconds: number): Record<string, string> {
  const FAKETIME = `${offsetSeconds > 0 ? '+' : ''}${offsetSeconds}s`;
  return { LD_PRELOAD: library, FAKETIME, DONT_FAKE_MONOTONIC: '1' };
}
