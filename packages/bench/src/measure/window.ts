import { setTimeout as wait } from 'node:timers/promises';
import type { Lab } from '../lab/lab.ts';
import { readUsage, type Usage } from './proc.ts';
import type { Span } from './slots.ts';

/** What the programs used over a span of time. */
export interface Window {
  readonly span: Span;
  /** The same on the monotonic clock, nanoseconds. */
  readonly clock: { readonly from: bigint; readonly to: bigint };
  readonly usage: ReadonlyMap<string, Usage>;
}

/** Lets the system work for so long. CPU time is that of the window, memory that at its end. */
export async function openWindow(lab: Lab, seconds: number): Promise<Window> {
  const before = readUsage(lab.programs);
  const from = Date.now();
  const clockFrom = process.hrtime.bigint();
  await wait(seconds * 1_000);
  const after = readUsage(lab.programs);
  const used = [...after].map(([name, { cpuMs, rssBytes }]): [string, Usage] => [
    name,
    { cpuMs: cpuMs - (before.get(name)?.cpuMs ?? 0), rssBytes },
  ]);
  return {
    span: { from, to: Date.now() },
    clock: { from: clockFrom, to: process.hrtime.bigint() },
    usage: new Map(used),
  };
}
