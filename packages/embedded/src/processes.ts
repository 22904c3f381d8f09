import { type ChildProcess, execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { errorCode } from '@tocsin/runtime/error-code';

/** True if a process with this ID is running under any user. Zombies do not count. */
export function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
  } catch (error) {
    if (errorCode(error) !== 'EPERM') return false;
  }
  return !isZombie(pid);
}

/** In containers whose first process does not reap children, orphans stay as zombies. */
function isZombie(pid: number): boolean {
  if (process.platform !== 'linux') return false;
  try {
    return /^\d+ \(.*\) Z /s.test(readFileSync(`/proc/${pid}/stat`, 'utf8'));
  } catch {
    return false;
  }
}

/** Command line of a process, separated by spaces. Empty if unknown. */
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

/** @returns true if the process exited in time */
async function waitForExit(pid: number, timeoutMs: number): Promise<boolean> {
  const deadline = Date.now() + timeoutMs;
  while (isRunning(pid)) {
    if (Date.now() > deadline) return false;
    await sleep(20);
  }
  return true;
}

/** Signals to send one after another, with the wait after each. */
export type StopSteps = readonly (readonly [signal: NodeJS.Signals, waitMs: number])[];

/** Sends signals one after another until the process exits. @returns true if it has exited */
export async function stopProcess(pid: number, steps: StopSteps): Promise<boolean> {
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

export function isAlive(child: ChildProcess): boolean {
  return child.pid !== undefined && child.exitCode === null && child.signalCode === null;
}

/** Formats as `exited with code 1`. Both parameters are null if the process could not be started. */
export function describeEnd(code: number | null, signal: NodeJS.Signals | null): string {
  if (signal !== null) return `was terminated by ${signal}`;
  return code === null ? 'could not be started' : `exited with code ${code}`;
}

/** Resolves to the text of `describeEnd` when the process ends. */
export async function whenEnded(child: ChildProcess): Promise<string> {
  if (!isAlive(child)) return describeEnd(child.exitCode, child.signalCode);
  return new Promise((resolve) => {
    child.once('exit', (code, signal) => resolve(describeEnd(code, signal)));
  });
}
