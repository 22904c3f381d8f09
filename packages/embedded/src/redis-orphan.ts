import { readlinkSync } from 'node:fs';
import { readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { commandLine, isRunning, stopProcess } from './processes.ts';
import { pingRedis } from './redis-ping.ts';
import { keepSecret, rememberedPort } from './server-folder.ts';

/** A clean shutdown, which writes what is not on disk yet, then by force. */
export const STOP_STEPS = [
  ['SIGTERM', 20_000],
  ['SIGKILL', 5000],
] as const satisfies readonly (readonly [NodeJS.Signals, number])[];

/** Ends a server of an earlier run that was killed. It is ours if it is a Redis that works in this very folder. */
export async function endRedisOrphan(folder: string): Promise<void> {
  const pid = Number.parseInt(await readFile(join(folder, 'pid'), 'utf8').catch(() => ''), 10);
  if (pid > 0 && isRunning(pid) && (await isOurs(pid, folder))) await stopProcess(pid, STOP_STEPS);
  await rm(join(folder, 'pid'), { force: true });
}

async function isOurs(pid: number, folder: string): Promise<boolean> {
  if (process.platform === 'linux') {
    try {
      return /(redis|valkey)/.test(commandLine(pid)) && readlinkSync(`/proc/${pid}/cwd`) === folder;
    } catch {
      return false;
    }
  }
  // Elsewhere the process does not tell where it works: nobody else knows our password.
  const port = await rememberedPort(join(folder, 'port'));
  return port !== undefined && (await pingRedis(port, await keepSecret(join(folder, 'password'))));
}
