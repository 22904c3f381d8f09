import { setTimeout as delay } from 'node:timers/promises';
import type { Selector } from '@tocsin/contracts/labels/selector';
import type { Event } from '@tocsin/contracts/monitors/events';
import type { Monitor } from '@tocsin/contracts/monitors/monitor';
import type { ApiClient } from '../http/api-client.ts';
import { ApiError } from '../http/api-error.ts';
import { CliError, EXIT, type ExitCode } from '../terminal/cli-error.ts';
import { withProgress, type Progress, type Terminal } from '../terminal/terminal.ts';
import { plain } from '../terminal/text.ts';
import { eventText } from './events.ts';
import { findMonitors } from './monitors.ts';

const RETRY_AFTER_MS = 3_000;

export interface TriggerFlags {
  readonly selector?: Selector;
  readonly url?: string;
  /** In seconds. 0 checks once. */
  readonly wait?: number;
  readonly json?: boolean;
}

type Api = Pick<ApiClient, 'listMonitors' | 'trigger'>;

interface Check {
  readonly monitor: Monitor;
  event: Event | null;
  /** Why the last attempt failed. */
  error?: ApiError;
}

/**
 * Checks monitors now and prints the results. With `wait`, monitors that are DOWN are checked again until they are UP or the time is up. All
 * monitors share this time. Afterwards, no check starts and no response is awaited.
 * @returns `negative` if a monitor is DOWN at the end
 */
export async function trigger(
  api: Api,
  terminal: Terminal,
  words: readonly string[],
  flags: TriggerFlags,
  retryAfterMs = RETRY_AFTER_MS,
): Promise<ExitCode> {
  const { wait = 0, url = null, json = false, selector } = flags;
  if (words.length === 0 && selector === undefined)
    throw new CliError('Name the monitors to check, or select them with -l.');
  const until = wait > 0 ? performance.now() + wait * 1_000 : undefined;
  const monitors = await findMonitors({ listMonitors: () => api.listMonitors(until) }, words, selector);
  const checks = monitors.map((monitor): Check => ({ monitor, event: null }));
  try {
    await withProgress(terminal, 'Checking …', checks.length, async (update) => {
      for (let remaining = checks; ;) {
        await runChecks(api, remaining, checks, { url, until }, update);
        remaining = remaining.filter(({ event }) => event?.status !== 'UP');
        if (remaining.length === 0 || performance.now() + retryAfterMs >= (until ?? 0)) break;
        await delay(retryAfterMs, undefined, { signal: terminal.signal });
      }
    });
  } finally {
    // Prints results even if a later check failed.
    const events = checks.flatMap(({ event }) => event ?? []);
    if (!json) for (const event of events) terminal.print(eventText(event, terminal.colors));
    else if (events.length > 0) terminal.printJson({ events }, 2);
  }
  const unchecked = checks.find(({ event }) => event === null);
  if (unchecked !== undefined) {
    const message = `There was no time left to check ${unchecked.monitor.name}.`;
    throw unchecked.error ?? new CliError(message, { code: 'failed', retryable: true });
  }
  return checks.every(({ event }) => event?.status === 'UP') ? EXIT.ok : EXIT.negative;
}

/** Checks each monitor once while there is time. After a temporary failure, a monitor keeps its previous result. */
async function runChecks(
  api: Api,
  remaining: readonly Check[],
  all: readonly Check[],
  { url, until }: { url: string | null; until: number | undefined },
  update: Progress['update'],
): Promise<void> {
  for (const check of remaining) {
    if (until !== undefined && performance.now() >= until) return;
    const { name, id } = check.monitor;
    update(plain(`Checking ${name} …`), all.filter(({ event }) => event !== null).length);
    try {
      check.event = await api.trigger(id, url, until);
      const { status, errorDetail, errorReason } = check.event;
      if (status !== 'UP' && until !== undefined)
        update(plain(`${name} is ${status} (${errorDetail ?? errorReason ?? ''}) …`));
    } catch (error) {
      // The checker itself may be part of the deployment and respond later.
      if (until === undefined || !(error instanceof ApiError) || !error.retryable) throw error;
      check.error = error;
    }
  }
}
