import { setTimeout as delay } from 'node:timers/promises';
import type { Event } from '@tocsin/contracts/monitors/events';
import type { Monitor } from '@tocsin/contracts/monitors/monitor';
import type { ApiClient } from '../http/api-client.ts';
import { ApiError } from '../http/api-error.ts';
import { CliError, EXIT, type ExitCode } from '../terminal/cli-error.ts';
import type { Progress, Terminal } from '../terminal/terminal.ts';
import { jsonText, plain } from '../terminal/text.ts';
import { eventText } from './events.ts';
import { findMonitors } from './monitors.ts';

/** From a check that failed to the next, while waiting for one that passes. */
const AGAIN_AFTER_MS = 3_000;

export interface TriggerFlags {
  readonly url?: string;
  /** Seconds; 0: as without it. */
  readonly wait?: number;
  readonly json?: boolean;
}

type Api = Pick<ApiClient, 'listMonitors' | 'trigger'>;

/** What is known of a monitor that is checked. */
interface Checked {
  readonly monitor: Monitor;
  event: Event | null;
  /** Why it has none yet. */
  error?: ApiError;
}

/**
 * Checks monitors now and prints the results. With `wait` those that are DOWN are checked again and again until they are UP or the time is
 * over, for all of them together: for deployments. No check begins after it, and no answer is waited for any longer.
 * @returns `negative` where one is DOWN in the end
 */
export async function trigger(
  api: Api,
  terminal: Terminal,
  words: readonly string[],
  flags: TriggerFlags,
  againAfterMs = AGAIN_AFTER_MS,
): Promise<ExitCode> {
  const { wait = 0, url = null } = flags;
  const until = wait > 0 ? performance.now() + wait * 1_000 : undefined;
  const monitors = await findMonitors({ listMonitors: () => api.listMonitors(until) }, words);
  const all = monitors.map((monitor): Checked => ({ monitor, event: null }));
  const progress = terminal.progress('Checking …', all.length);
  try {
    for (let left = all; ;) {
      await checkEach(api, left, all, { url, until }, progress);
      left = left.filter(({ event }) => event?.status !== 'UP');
      if (left.length === 0 || performance.now() + againAfterMs >= (until ?? 0)) break;
      await delay(againAfterMs, undefined, { signal: terminal.signal });
    }
  } finally {
    progress.stop();
    // Where a later one fails, what was found before is told too.
    const events = all.flatMap(({ event }) => event ?? []);
    if (flags.json !== true) for (const event of events) terminal.print(eventText(event, terminal.colors));
    else if (events.length > 0) terminal.print(jsonText({ events }, 2));
  }
  const without = all.find(({ event }) => event === null);
  if (without !== undefined)
    throw without.error ?? new CliError(`No time was left to check ${without.monitor.name}.`);
  return all.every(({ event }) => event?.status === 'UP') ? EXIT.ok : EXIT.negative;
}

/** One check of each, as long as there is time. A failure that may pass leaves a monitor with the result before it. */
async function checkEach(
  api: Api,
  left: readonly Checked[],
  all: readonly Checked[],
  { url, until }: { url: string | null; until: number | undefined },
  progress: Progress,
): Promise<void> {
  for (const one of left) {
    if (until !== undefined && performance.now() >= until) return;
    const { name, id } = one.monitor;
    progress.update(plain(`Checking ${name} …`), all.filter(({ event }) => event !== null).length);
    try {
      one.event = await api.trigger(id, url, until);
      if (one.event.status !== 'UP' && until !== undefined)
        progress.update(plain(`${name} is ${one.event.status} (${one.event.errorReason ?? ''}) …`));
    } catch (error) {
      // A checker that is being deployed itself answers later.
      if (until === undefined || !(error instanceof ApiError) || !error.isPassing) throw error;
      one.error = error;
    }
  }
}
