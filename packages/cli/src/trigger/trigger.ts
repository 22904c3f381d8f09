import { setTimeout as delay } from 'node:timers/promises';
import type { Event } from '@tocsin/contracts/event';
import type { Monitor } from '@tocsin/contracts/monitor';
import { eventText } from '../events/event-text.ts';
import type { ApiClient } from '../http/api-client.ts';
import { ApiError } from '../http/api-error.ts';
import { findMonitors } from '../monitors/find-monitors.ts';
import { EXIT, type ExitCode } from '../terminal/cli-error.ts';
import { jsonText, plain } from '../terminal/plain.ts';
import type { Progress, Terminal } from '../terminal/terminal.ts';

/** From a check that failed to the next, while waiting for one that passes. */
const AGAIN_AFTER_MS = 3_000;

export interface TriggerFlags {
  readonly url?: string;
  /** Seconds. */
  readonly wait?: number;
  readonly json?: boolean;
}

type Api = Pick<ApiClient, 'listMonitors' | 'trigger'>;

/**
 * Checks monitors now and prints the results. With `wait` a monitor that is DOWN is checked again and again until it is UP or the time is
 * over: for deployments.
 * @returns `negative` where one is DOWN in the end
 */
export async function trigger(
  api: Api,
  terminal: Terminal,
  words: readonly string[],
  flags: TriggerFlags,
): Promise<ExitCode> {
  const monitors = await findMonitors(api, words);
  const progress = terminal.progress('Checking …');
  const events: Event[] = [];
  try {
    for (const [index, monitor] of monitors.entries()) {
      progress.update(plain(`Checking ${monitor.name} (${index + 1} of ${monitors.length}) …`));
      events.push(await checkUntilUp(api, terminal, monitor, flags, progress));
    }
  } finally {
    progress.stop();
  }
  if (flags.json === true) terminal.print(jsonText({ events }, 2));
  else for (const event of events) terminal.print(eventText(event, terminal.colors));
  return events.every(({ status }) => status === 'UP') ? EXIT.ok : EXIT.negative;
}

async function checkUntilUp(
  api: Api,
  { signal }: Terminal,
  monitor: Monitor,
  { url, wait = 0 }: TriggerFlags,
  progress: Progress,
): Promise<Event> {
  const deadline = performance.now() + wait * 1_000;
  for (;;) {
    const isLast = performance.now() + AGAIN_AFTER_MS >= deadline;
    try {
      const event = await api.trigger(monitor.id, url ?? null);
      if (event.status === 'UP' || isLast) return event;
      progress.update(plain(`${monitor.name} is ${event.status} (${event.errorReason ?? ''}), checking again …`));
    } catch (error) {
      // A checker that is being deployed itself answers later.
      if (isLast || !(error instanceof ApiError) || !error.isPassing) throw error;
    }
    await delay(AGAIN_AFTER_MS, undefined, { signal });
  }
}
