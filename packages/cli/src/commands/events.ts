import type { Event } from '@tocsin/contracts/monitors/events';
import type { Colors } from 'picocolors/types.js';
import type { ApiClient } from '../http/api-client.ts';
import { CliError, EXIT, type ExitCode } from '../terminal/cli-error.ts';
import { withProgress, type Terminal } from '../terminal/terminal.ts';
import { plain, statusText } from '../terminal/text.ts';
import { findMonitors } from './monitors.ts';

export const PAGE_SIZE = 500;
const READING = 'Reading events …';

export interface EventsFlags {
  readonly limit: number;
  readonly since?: string;
  readonly json?: boolean;
}

/** Prints events of a monitor, oldest first. These are the latest events, or the first events after a time. */
export async function listEvents(
  api: ApiClient,
  terminal: Terminal,
  word: string,
  { limit, since, json = false }: EventsFlags,
): Promise<ExitCode> {
  if (since === undefined) requireOnePage(limit);
  const [monitor] = await findMonitors(api, [word]);
  const id = monitor?.id ?? '';
  const total = since === undefined ? undefined : limit;
  const events = await withProgress(terminal, READING, total, async (update) =>
    since === undefined
      ? api.listEvents(id, { limit })
      : eventsAfter(api, id, since, limit, (count) => update(READING, count)),
  );
  if (json) terminal.printJson({ events }, 2);
  else for (const event of events) terminal.print(eventText(event, terminal.colors));
  return EXIT.ok;
}

/** Without `--since`, events are read with one request. @throws CliError if the limit exceeds a page */
export function requireOnePage(limit: number): void {
  if (limit > PAGE_SIZE) throw new CliError(`Without --since, -n must be at most ${PAGE_SIZE}.`);
}

/** Reads up to `max` events after a time. @param onPage called with the number of events so far */
export async function eventsAfter(
  api: Pick<ApiClient, 'listEvents'>,
  id: string,
  since: string,
  max: number = Infinity,
  onPage: (count: number) => void = () => undefined,
): Promise<Event[]> {
  const events: Event[] = [];
  for (let after = since; events.length < max;) {
    const limit = Math.min(PAGE_SIZE, max - events.length);
    const page = await api.listEvents(id, { limit, since: after });
    events.push(...page);
    onPage(events.length);
    if (page.length < limit) break;
    after = page.at(-1)?.timestamp ?? after;
  }
  return events;
}

export function eventText(event: Event, colors: Colors): string {
  const { timestamp, status, statusCode, latency, region, monitorName, url } = event;
  const failure = failureText(event);
  return [
    timestamp,
    statusText(status, colors) + (status === 'UP' ? '  ' : ''),
    String(statusCode ?? '-').padStart(3),
    `${String(latency).padStart(5)} ms`,
    region,
    plain(monitorName),
    ...(url === null ? [] : [`(${plain(url)})`]),
    ...(failure === '' ? [] : [(event.inconclusive ? colors.yellow : colors.red)(plain(failure))]),
  ].join('  ');
}

function failureText({ errorReason, errorDetail, inconclusive }: Event): string {
  // Failed assertions have this reason, and the detail says which.
  const reason = errorReason === 'UNKNOWN_ERROR' && errorDetail !== null ? null : errorReason;
  const failure = [reason, errorDetail].filter((part) => part !== null).join(': ');
  return inconclusive ? `inconclusive: the checker or its network failed (${failure})` : failure;
}
