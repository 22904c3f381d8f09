import { stopService, type Stop } from '../load/stop-service.ts';
import type { SystemLoad } from '../load/system-load.ts';

/** One restart of a service. */
export interface Restart extends Stop {
  readonly name: string;
  /** From its start until it said that it is ready, ms; null where it was not started again. */
  readonly startMs: number | null;
}

/** Ends a service by SIGTERM and starts it again at once. */
export async function restartService(load: SystemLoad, name: string): Promise<Restart> {
  const { exitCode, stopMs } = await stopService(load, name);
  const startedAt = performance.now();
  await load.startService(name);
  return { name, exitCode, stopMs, startMs: performance.now() - startedAt };
}
