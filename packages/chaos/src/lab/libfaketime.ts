import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';
import { isRoot } from '@tocsin/embedded/server-folder';

const APT = '/usr/bin/apt-get';
const INSTALLED_WITHIN_MS = 120_000;
const WAIT_FOR_OTHERS = ['-o', 'DPkg::Lock::Timeout=60'];
const LIBRARIES = '/usr/lib';
/** The one for programs with threads. */
const NAME = 'libfaketimeMT.so.1';

/** What is said where there is none. */
const NO_LIBFAKETIME =
  'THERE IS NO libfaketime (Debian: apt-get install libfaketime): clocks cannot be set off, and these faults count as not fired';

/** The library that gives one process a clock of its own; null where there is none. */
function findLibfaketime(): string | null {
  const folders = ['', ...readdirSync(LIBRARIES)].map((folder) => `${LIBRARIES}/${folder}/faketime/${NAME}`);
  return folders.find((file) => existsSync(file)) ?? null;
}

/** Finds it, or installs it where that needs no question (root on Debian). Null where neither works: said aloud. */
export function ensureLibfaketime(say: (line: string) => void): string | null {
  const found = findLibfaketime();
  if (found !== null) return found;
  if (isRoot() && existsSync(APT)) {
    say('Installing libfaketime …');
    const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' };
    const options = { stdio: 'pipe', env, timeout: INSTALLED_WITHIN_MS } as const;
    try {
      execFileSync(APT, ['update'], options);
      execFileSync(
        APT,
        ['install', '-y', '--no-install-recommends', ...WAIT_FOR_OTHERS, 'libfaketime'],
        options,
      );
    } catch (error) {
      say(`apt-get could not install libfaketime: ${String(error)}`);
    }
  }
  const installed = findLibfaketime();
  if (installed === null) {
    say(NO_LIBFAKETIME);
  }
  return installed;
}

/** Settings of a process whose clock is off by so many seconds; what it measures with the monotonic clock stays right. */
export function clockOff(library: string, offsetSeconds: number): Record<string, string> {
  return {
    LD_PRELOAD: library,
    FAKETIME: `${offsetSeconds > 0 ? '+' : ''}${offsetSeconds}s`,
    DONT_FAKE_MONOTONIC: '1',
  };
}
