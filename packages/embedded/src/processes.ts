import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { errorCode } from '@tocsin/runtime/error-code';

/** Whether a process with this id runs, of whatever user. One that has ended and that nobody waits for does not count. */
export function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
  } catch (error) {
    if (errorCode(error) !== 'EPERM') return false;
  }
  return !isZombie(pid);
}

/** In a container whose first process does not reap, the orphans that we stop stay behind as zombies. */
function isZombie(pid: number): boolean {
  if (process.platform !== 'linux') return false;
  try {
    return /^\d+ \(.*\) Z /s.test(readFileSync(`/proc/${pid}/stat`, 'utf8'));
  } catch {
    return false;
  }
}

/** The command line of a running process, its parts separated by blanks; empty where the system does not tell. */
export function commandLine(pid: number): string {
  try {
    if (process.platform === 'linux') {
      return readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ').trim();
    }
    if (process.platform === 'win32') return '';
    return execFileSync('ps', ['-o', 'command=', '-p', String(pid)], { encoding: 'utf8' }).trim();
  } catch {
    return '';
  }
}

/** Resolves to whether the process was gone within the time. */
async function waitForExit(pid: number, timeoutMs: number): Promise<boolean> {
  const deadline = Date.now() + timeoutMs;
  while (isRunning(pid)) {
    if (Date.now() > deadline) return false;
    await sleep(20);
  }
  return true;
}

/** Sends these signals one after the other, each only if the one before did not end the process in time. */
export async function stopProcess(
  pid: number,
  steps: readonly (readonly [signal: NodeJS.Signals, waitMs: number])[],
): Promise<boolean> {
  for (const [signal, waitMs] of steps) {
    try {
      process.kill(pid, signal);
    } catch (error) {
      if (errorCode(error) === 'ESRCH') return true;
      throw error;
    }
    if (await waitForExit(pid, waitMs)) return true;
  }
  return false;
}
