import { setTimeout as delay } from 'node:timers/promises';
import type { Event } from '@tocsin/contracts/monitors/events';
import type { Monitor } from '@tocsin/contracts/monitors/monitor';
import type { ApiClient } from '../http/api-client.ts';
import { ApiError } from '../http/api-error.ts';
import { EXIT, type ExitCode } from '../terminal/cli-error.ts';
import { withProgress, type Terminal } from '../terminal/terminal.ts';
import { jsonText, plain } from '../terminal/text.ts';
import { eventsAfter, eventText, requireOnePage } from './events.ts';
import { findMonitors } from './monitors.ts';

const MAX_BACKOFF_MS = 15_000;
const CONCURRENT_REQUESTS = 8;

export interface TailFlags {
  readonly follow?: boolean;
  readonly limit: number;
  readonly since?: string;
  readonly every: number;
  readonly json?: boolean;
}

type Api = Pick<ApiClient, 'listMonitors' | 'listEvents'>;
type OnProgress = (done: number) => void;

/**
 * Prints the latest events of monitors and, with `follow`, each new event until the command is stopped. It requests the events after the
 * last printed event of each monitor, so no event is missed or repeated, however long the API is unavailable.
 * @param words monitors to follow; empty: all, including later ones
 */
export async function tail(
  api: Api,
  terminal: Terminal,
  words: readonly string[],
  flags: TailFlags,
): Promise<ExitCode> {
  if (flags.since === undefined) requireOnePage(flags.limit);
  const named = words.length === 0 ? null : await findMonitors(api, words);
  /** The names of the wanted monitors by id; null: all monitors. */
  const wanted = named && new Map(named.map(({ id, name }) => [id, name]));
  /** By monitor: the time of the last printed event, or the time after which its events are printed. */
  const cursors = new Map<string, string>();
  const isWanted = ({ id }: Monitor): boolean => wanted === null || wanted.has(id);
  const print = (events: readonly Event[]): void => {
    for (const event of events.toSorted(byTime)) {
      cursors.set(event.monitorId, event.timestamp);
      terminal.print(flags.json === true ? jsonText(event) : eventText(event, terminal.colors));
    }
  };
  const poll = async (): Promise<boolean> => {
    const all = await api.listMonitors();
    if (wanted !== null) forgetDeleted(wanted, all, terminal);
    const monitors = all.filter((monitor) =>
      wanted === null ? hasNewEvents(monitor, cursors.get(monitor.id)) : isWanted(monitor),
    );
    print(await readAll(monitors, ({ id, createdAt }) => eventsAfter(api, id, cursors.get(id) ?? createdAt)));
    return wanted === null || wanted.size > 0;
  };
  const monitors = (await api.listMonitors()).filter(isWanted);
  print(await readFirst(api, terminal, monitors, cursors, flags));
  if (flags.follow === true) await repeat(poll, terminal, flags.every * 1_000);
  return EXIT.ok;
}

/** The events to print first. @param cursors receives the cursor of every monitor */
async function readFirst(
  api: Api,
  terminal: Terminal,
  monitors: readonly Monitor[],
  cursors: Map<string, string>,
  { limit, since }: TailFlags,
): Promise<Event[]> {
  for (const { id, lastCheckedAt } of monitors) {
    const cursor = since ?? lastCheckedAt;
    if (cursor !== null) cursors.set(id, cursor);
  }
  if (since === undefined && limit === 0) return [];
  return withProgress(terminal, 'Reading events …', monitors.length, (update) => {
    const onProgress: OnProgress = (done) => update('Reading events …', done);
    return since === undefined
      ? readLatest(api, monitors, cursors, limit, onProgress)
      : readAll(monitors, ({ id }) => eventsAfter(api, id, since), onProgress);
  });
}

/** The latest events of all monitors together. Queries only monitors that may have one of them, the most recently checked first. */
async function readLatest(
  api: Api,
  monitors: readonly Monitor[],
  cursors: Map<string, string>,
  limit: number,
  onProgress: OnProgress,
): Promise<Event[]> {
  const byCheck = monitors.toSorted((one, other) => checkedAt(other) - checkedAt(one));
  let latest: Event[] = [];
  for (let from = 0; from < byCheck.length; from += CONCURRENT_REQUESTS) {
    const oldest = latest.length < limit ? -Infinity : Date.parse(latest[0]?.timestamp ?? '');
    const group = byCheck.slice(from, from + CONCURRENT_REQUESTS);
    if (group.every((monitor) => checkedAt(monitor) < oldest)) break;
    const events = (await readAll(group, ({ id }) => api.listEvents(id, { limit }))).toSorted(byTime);
    // Even if no event of a monitor is printed, its next events are those after its latest one.
    for (const event of events) cursors.set(event.monitorId, event.timestamp);
    latest = [...latest, ...events].toSorted(byTime).slice(-limit);
    onProgress(from);
  }
  return latest;
}

function checkedAt({ lastCheckedAt }: Monitor): number {
  return lastCheckedAt === null ? 0 : Date.parse(lastCheckedAt);
}

/** Reports deleted monitors: otherwise a user would wait for their results for ever. */
function forgetDeleted(
  wanted: Map<string, string>,
  monitors: readonly Monitor[],
  { note }: Pick<Terminal, 'note'>,
): void {
  const existing = new Set(monitors.map(({ id }) => id));
  for (const [id, name] of wanted) {
    if (existing.has(id)) continue;
    wanted.delete(id);
    note(plain(`The monitor "${name}" was deleted.`));
  }
}

/** A triggered check of another URL does not change `lastCheckedAt`: it is printed with the next event. */
function hasNewEvents({ lastCheckedAt }: Monitor, cursor: string | undefined): boolean {
  return lastCheckedAt !== null && (cursor === undefined || Date.parse(lastCheckedAt) > Date.parse(cursor));
}

/** Reads the events of monitors in small groups. A monitor that was deleted in the meantime has none. */
async function readAll(
  monitors: readonly Monitor[],
  read: (monitor: Monitor) => Promise<Event[]>,
  onProgress: OnProgress = () => undefined,
): Promise<Event[]> {
  const events: Event[] = [];
  const readOne = (monitor: Monitor): Promise<Event[]> =>
    read(monitor).catch((error: unknown) => {
      if (error instanceof ApiError && error.status === 404) return [];
      throw error;
    });
  for (let from = 0; from < monitors.length; from += CONCURRENT_REQUESTS) {
    onProgress(from);
    const pages = await Promise.all(monitors.slice(from, from + CONCURRENT_REQUESTS).map(readOne));
    for (const page of pages) events.push(...page);
  }
  return events;
}

/** Polls until the command is stopped or `poll` returns false, with growing delays while the API is unavailable. */
async function repeat(
  poll: () => Promise<boolean>,
  { signal, note }: Pick<Terminal, 'signal' | 'note'>,
  everyMs: number,
): Promise<void> {
  let failures = 0;
  while (!signal.aborted) {
    const waitMs = failures === 0 ? everyMs : Math.min(everyMs * 2 ** failures, MAX_BACKOFF_MS);
    await delay(waitMs, undefined, { signal }).catch(() => undefined);
    if (signal.aborted) return;
    try {
      const continues = await poll();
      if (failures > 0) note('The API is available again.');
      failures = 0;
      if (!continues) return;
    } catch (error) {
      if (signal.aborted) return;
      if (!(error instanceof ApiError) || !error.isTemporary) throw error;
      if (failures === 0) note(plain(`${error.message} Waiting until the API is available again.`));
      failures += 1;
    }
  }
}

function byTime(one: Event, other: Event): number {
  return (
    Date.parse(one.timestamp) - Date.parse(other.timestamp) || (one.monitorId < other.monitorId ? -1 : 1)
  );
}
