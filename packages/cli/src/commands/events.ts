import type { Event } from '@tocsin/contracts/monitors/events';
import type { Colors } from 'picocolors/types.js';
import type { ApiClient } from '../http/api-client.ts';
import { CliError, EXIT, type ExitCode } from '../terminal/cli-error.ts';
import type { Terminal } from '../terminal/terminal.ts';
import { jsonText, plain, statusText } from '../terminal/text.ts';
import { findMonitors } from './monitors.ts';

/** An event in a line. */
export function eventText(event: Event, colors: Colors): string {
  const { timestamp, status, statusCode, latency, region, monitorName, errorReason, errorDetail, url } =
    event;
  const failure = [errorReason, errorDetail].filter((part) => part !== null).join(': ');
  return [
    timestamp,
    statusText(status, colors) + (status === 'UP' ? '  ' : ''),
    String(statusCode ?? '-').padStart(3),
    `${String(latency).padStart(5)} ms`,
    region,
    plain(monitorName),
    ...(url === null ? [] : [`(${plain(url)})`]),
    ...(failure === '' ? [] : [colors.red(plain(failure))]),
  ].join('  ');
}

/** The most that one request gives. */
const PAGE = 500;

export interface EventsFlags {
  readonly limit: number;
  readonly since?: string;
  readonly json?: boolean;
}

/** Prints the history of a monitor, oldest first: the latest events, or the first ones after an instant. */
export async function listEvents(
  api: ApiClient,
  terminal: Terminal,
  word: string,
  flags: EventsFlags,
): Promise<ExitCode> {
  if (flags.since === undefined) requireOnePage(flags.limit);
  const { print, colors } = terminal;
  const [monitor] = await findMonitors(api, [word]);
  const events = await readEvents(api, terminal, monitor?.id ?? '', flags);
  if (flags.json === true) print(jsonText({ events }, 2));
  else for (const event of events) print(eventText(event, colors));
  return EXIT.ok;
}

/** The latest ones come in one answer. @throws CliError */
export function requireOnePage(limit: number): void {
  if (limit > PAGE) throw new CliError(`Without --since, -n can be ${PAGE} at most.`);
}

async function readEvents(
  api: ApiClient,
  terminal: Terminal,
  id: string,
  { since, limit }: EventsFlags,
): Promise<Event[]> {
  if (since === undefined) return api.listEvents(id, { limit });
  const progress = terminal.progress('Reading events …', limit);
  try {
    return await eventsAfter(api, id, since, limit, (read) => progress.update('Reading events …', read));
  } finally {
    progress.stop();
  }
}

/** Every event after an instant, page by page. @param most at most so many. @param onPage told how many there are by now */
export async function eventsAfter(
  api: Pick<ApiClient, 'listEvents'>,
  id: string,
  since: string,
  most: number = Infinity,
  onPage: (read: number) => void = () => undefined,
): Promise<Event[]> {
  const events: Event[] = [];
  for (let after = since; events.length < most;) {
    const limit = Math.min(PAGE, most - events.length);
    const page = await api.listEvents(id, { limit, since: after });
    events.push(...page);
    onPage(events.length);
    if (page.length < limit) break;
    after = page.at(-1)?.timestamp ?? after;
  }
  return events;
}
