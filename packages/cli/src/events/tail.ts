import { setTimeout as delay } from 'node:timers/promises';
import type { Event } from '@tocsin/contracts/event';
import type { Monitor } from '@tocsin/contracts/monitor';
import type { ApiClient } from '../http/api-client.ts';
import { ApiError } from '../http/api-error.ts';
import { findMonitors } from '../monitors/find-monitors.ts';
import { EXIT, type ExitCode } from '../terminal/cli-error.ts';
import { jsonText, plain } from '../terminal/plain.ts';
import type { Terminal } from '../terminal/terminal.ts';
import { eventText } from './event-text.ts';
import { eventsAfter } from './list.ts';

const LONGEST_BACKOFF_MS = 15_000;
/** Monitors that are asked at once. */
const AT_ONCE = 8;

export interface TailFlags {
  readonly follow?: boolean;
  readonly limit: number;
  readonly since?: string;
  readonly every: number;
  readonly json?: boolean;
}

type Api = Pick<ApiClient, 'listMonitors' | 'listEvents'>;

/**
 * Prints the latest events of monitors and, with `follow`, each new one, until it is ended. By the timestamp of the last event that it
 * has of each monitor it asks for what came after (specification "List monitor events"): nothing is missed and nothing comes twice,
 * however long the API was away.
 * @param words no monitor: all of them, later ones too
 */
export async function tail(
  api: Api,
  terminal: Terminal,
  words: readonly string[],
  flags: TailFlags,
): Promise<ExitCode> {
  const named = words.length === 0 ? null : new Set((await findMonitors(api, words)).map(({ id }) => id));
  /** By monitor: the last event that was printed, or the instant before all that are to come. */
  const cursors = new Map<string, string>();
  const print = (events: readonly Event[]): void => {
    for (const event of events.toSorted(byTime)) {
      cursors.set(event.monitorId, event.timestamp);
      terminal.print(flags.json === true ? jsonText(event) : eventText(event, terminal.colors));
    }
  };
  const look = async (): Promise<void> => {
    const monitors = (await api.listMonitors()).filter(({ id }) => named === null || named.has(id));
    const moved = monitors.filter((monitor) => named !== null || hasNews(monitor, cursors.get(monitor.id)));
    print(await gather(moved, ({ id, createdAt }) => eventsOf(api, id, cursors.get(id) ?? createdAt)));
  };
  await begin(api, cursors, print, named, flags);
  if (flags.follow !== true) return EXIT.ok;
  await repeat(look, terminal, flags.every * 1_000);
  return EXIT.ok;
}

/** The events until now. */
async function begin(
  api: Api,
  cursors: Map<string, string>,
  print: (events: readonly Event[]) => void,
  named: ReadonlySet<string> | null,
  { limit, since }: TailFlags,
): Promise<void> {
  const monitors = (await api.listMonitors()).filter(({ id }) => named === null || named.has(id));
  if (since !== undefined) {
    for (const { id } of monitors) cursors.set(id, since);
    print(await gather(monitors, ({ id }) => eventsAfter(api, id, since)));
    return;
  }
  const latest = await gather(monitors, ({ id }) => api.listEvents(id, { limit: Math.max(limit, 1) }));
  // Where nothing of a monitor is shown, its latest event still is the one to go on from.
  for (const event of latest.toSorted(byTime)) cursors.set(event.monitorId, event.timestamp);
  print(limit === 0 ? [] : latest.toSorted(byTime).slice(-limit));
}

/** A test run against another URL does not show in `lastCheckedAt`: it is printed with the next event. */
function hasNews({ lastCheckedAt }: Monitor, cursor: string | undefined): boolean {
  return lastCheckedAt !== null && (cursor === undefined || Date.parse(lastCheckedAt) > Date.parse(cursor));
}

async function eventsOf(api: Api, id: string, since: string): Promise<Event[]> {
  try {
    return await eventsAfter(api, id, since);
  } catch (error) {
    // Deleted just now.
    if (error instanceof ApiError && error.status === 404) return [];
    throw error;
  }
}

async function gather(
  monitors: readonly Monitor[],
  read: (monitor: Monitor) => Promise<Event[]>,
): Promise<Event[]> {
  const events: Event[] = [];
  for (let from = 0; from < monitors.length; from += AT_ONCE) {
    const pages = await Promise.all(monitors.slice(from, from + AT_ONCE).map(read));
    events.push(...pages.flat());
  }
  return events;
}

/** Until the terminal's signal; while the API is away, less and less often. */
async function repeat(
  look: () => Promise<void>,
  { signal, note }: Pick<Terminal, 'signal' | 'note'>,
  everyMs: number,
): Promise<void> {
  let failures = 0;
  while (!signal.aborted) {
    const waitMs = failures === 0 ? everyMs : Math.min(everyMs * 2 ** failures, LONGEST_BACKOFF_MS);
    await delay(waitMs, undefined, { signal }).catch(() => undefined);
    if (signal.aborted) return;
    try {
      await look();
      if (failures > 0) note('The API answers again.');
      failures = 0;
    } catch (error) {
      if (signal.aborted) return;
      if (!(error instanceof ApiError) || !error.isPassing) throw error;
      if (failures === 0) note(plain(`${error.message} Going on as soon as it answers.`));
      failures += 1;
    }
  }
}

function byTime(one: Event, other: Event): number {
  return (
    Date.parse(one.timestamp) - Date.parse(other.timestamp) || (one.monitorId < other.monitorId ? -1 : 1)
  );
}
