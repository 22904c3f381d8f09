import type { Event } from '@tocsin/contracts/event';
import type { ApiClient } from '../http/api-client.ts';
import { findMonitors } from '../monitors/find-monitors.ts';
import { EXIT, type ExitCode } from '../terminal/cli-error.ts';
import { jsonText } from '../terminal/plain.ts';
import type { Terminal } from '../terminal/terminal.ts';
import { eventText } from './event-text.ts';

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
  { print, colors }: Terminal,
  word: string,
  flags: EventsFlags,
): Promise<ExitCode> {
  const [monitor] = await findMonitors(api, [word]);
  const id = monitor?.id ?? '';
  const events =
    flags.since === undefined
      ? await api.listEvents(id, { limit: Math.min(flags.limit, PAGE) })
      : await eventsAfter(api, id, flags.since, flags.limit);
  if (flags.json === true) print(jsonText({ events }, 2));
  else for (const event of events) print(eventText(event, colors));
  return EXIT.ok;
}

/** Every event after an instant, page by page. @param most at most so many */
export async function eventsAfter(
  api: Pick<ApiClient, 'listEvents'>,
  id: string,
  since: string,
  most: number = Infinity,
): Promise<Event[]> {
  const events: Event[] = [];
  for (let after = since; events.length < most;) {
    const limit = Math.min(PAGE, most - events.length);
    const page = await api.listEvents(id, { limit, since: after });
    events.push(...page);
    if (page.length < limit) break;
    after = page.at(-1)?.timestamp ?? after;
  }
  return events;
}
