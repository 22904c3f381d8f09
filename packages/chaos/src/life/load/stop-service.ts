import { withDeadline } from '@tocsin/queue/deadline';
import type { SystemLoad } from './system-load.ts';

/** An end by SIGTERM. */
export interface Stop {
  /** Null: a signal killed it. */
  readonly exitCode: number | null;
  /** From the signal to its end, ms. */
  readonly stopMs: number;
}

/** What a service allows itself is 30 s; after that it is no end of its own. */
const LONGEST_STOP_MS = 35_000;

/** Ends a service by SIGTERM. */
export async function stopService(load: SystemLoad, name: string): Promise<Stop> {
  const running = load.services.get(name);
  if (running === undefined) throw new Error(`there is no ${name}`);
  await load.noteMisses(running);
  const signalledAt = performance.now();
  const exitCode = await withDeadline(running.stop(), LONGEST_STOP_MS, `stopping ${name}`);
  return { exitCode, stopMs: performance.now() - signalledAt };
}
