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
 * over, for all of them together: for deployments.
 * @returns `negative` where one is DOWN in the end
 */
export async function trigger(
  api: Api,
  terminal: Terminal,
  words: readonly string[],
  flags: TriggerFlags,
): Promise<ExitCode> {
  const deadline = performance.now() + (flags.wait ?? 0) * 1_000;
  const monitors = await findMonitors(api, words);
  const progress = terminal.progress('Checking …', monitors.length);
  const events: Event[] = [];
  try {
    for (const [index, monitor] of monitors.entries()) {
      progress.update(plain(`Checking ${monitor.name} …`), index);
      events.push(await checkUntilUp(api, terminal, monitor, flags, deadline, progress));
    }
  } finally {
    progress.stop();
    // Where a later one fails, what was found before is told too.
    if (flags.json !== true) for (const event of events) terminal.print(eventText(event, terminal.colors));
    else if (events.length > 0) terminal.print(jsonText({ events }, 2));
  }
  return events.every(({ status }) => status === 'UP') ? EXIT.ok : EXIT.negative;
}

async function checkUntilUp(
  api: Api,
  { signal }: Terminal,
  monitor: Monitor,
  { url, wait }: TriggerFlags,
  deadline: number,
  progress: Progress,
): Promise<Event> {
  for (;;) {
    const isLast = performance.now() + AGAIN_AFTER_MS >= deadline;
    try {
      const event = await api.trigger(monitor.id, url ?? null, wait === undefined ? undefined : deadline);
      if (event.status === 'UP' || isLast) return event;
      progress.update(
        plain(`${monitor.name} is ${event.status} (${event.errorReason ?? ''}), checking again …`),
      );
    } catch (error) {
      // A checker that is being deployed itself answers later.
      if (isLast || !(error instanceof ApiError) || !error.isPassing) throw error;
    }
    await delay(AGAIN_AFTER_MS, undefined, { signal });
  }
}
