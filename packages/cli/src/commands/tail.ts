import { setTimeout as delay } from 'node:timers/promises';
import type { Event } from '@tocsin/contracts/monitors/events';
import type { Monitor } from '@tocsin/contracts/monitors/monitor';
import type { ApiClient } from '../http/api-client.ts';
import { ApiError } from '../http/api-error.ts';
import { EXIT, type ExitCode } from '../terminal/cli-error.ts';
import type { Terminal } from '../terminal/terminal.ts';
import { jsonText, plain } from '../terminal/text.ts';
import { eventsAfter, eventText, requireOnePage } from './events.ts';
import { findMonitors } from './monitors.ts';

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
  if (flags.since === undefined) requireOnePage(flags.limit);
  const named =
    words.length === 0
      ? null
      : new Map((await findMonitors(api, words)).map(({ id, name }) => [id, name] as const));
  /** By monitor: the last event that was printed, or the instant before all that are to come. */
  const cursors = new Map<string, string>();
  const print = (events: readonly Event[]): void => {
    for (const event of events.toSorted(byTime)) {
      cursors.set(event.monitorId, event.timestamp);
      terminal.print(flags.json === true ? jsonText(event) : eventText(event, terminal.colors));
    }
  };
  const look = async (): Promise<boolean> => {
    const all = await api.listMonitors();
    if (named !== null) forgetDeleted(named, all, terminal);
    const monitors = all.filter(({ id }) => named === null || named.has(id));
    const moved = monitors.filter((monitor) => named !== null || hasNews(monitor, cursors.get(monitor.id)));
    print(await gather(moved, ({ id, createdAt }) => eventsAfter(api, id, cursors.get(id) ?? createdAt)));
    return named === null || named.size > 0;
  };
  print(await begin(api, terminal, cursors, named, flags));
  if (flags.follow === true) await repeat(look, terminal, flags.every * 1_000);
  return EXIT.ok;
}

/** @returns the events until now that are to be shown. @param cursors takes where to go on from, of every monitor */
async function begin(
  api: Api,
  terminal: Terminal,
  cursors: Map<string, string>,
  named: ReadonlyMap<string, string> | null,
  { limit, since }: TailFlags,
): Promise<Event[]> {
  const monitors = (await api.listMonitors()).filter(({ id }) => named === null || named.has(id));
  const progress = terminal.progress('Reading events …', monitors.length);
  const onGroup = (done: number): void => progress.update('Reading events …', done);
  try {
    if (since !== undefined) {
      for (const { id } of monitors) cursors.set(id, since);
      return await gather(monitors, ({ id }) => eventsAfter(api, id, since), onGroup);
    }
    for (const { id, lastCheckedAt } of monitors) if (lastCheckedAt !== null) cursors.set(id, lastCheckedAt);
    return await readLatest(api, monitors, cursors, limit, onGroup);
  } finally {
    progress.stop();
  }
}

/**
 * The latest events of all together. Those that were checked last are asked first, and others only while they may have one of these: of
 * thousands of monitors not each is asked.
 */
async function readLatest(
  api: Api,
  monitors: readonly Monitor[],
  cursors: Map<string, string>,
  limit: number,
  onGroup: (done: number) => void,
): Promise<Event[]> {
  if (limit === 0) return [];
  const byCheck = monitors.toSorted((one, other) => checkedAt(other) - checkedAt(one));
  let latest: Event[] = [];
  for (let from = 0; from < byCheck.length; from += AT_ONCE) {
    const oldest = latest.length < limit ? -Infinity : Date.parse(latest[0]?.timestamp ?? '');
    const group = byCheck.slice(from, from + AT_ONCE);
    if (group.every((monitor) => checkedAt(monitor) < oldest)) break;
    const events = (await gather(group, ({ id }) => api.listEvents(id, { limit }))).toSorted(byTime);
    // Where nothing of a monitor is shown, its latest event still is the one to go on from.
    for (const event of events) cursors.set(event.monitorId, event.timestamp);
    latest = [...latest, ...events].toSorted(byTime).slice(-limit);
    onGroup(from);
  }
  return latest;
}

function checkedAt({ lastCheckedAt }: Monitor): number {
  return lastCheckedAt === null ? 0 : Date.parse(lastCheckedAt);
}

/** Says so: whoever waits for their results would wait for ever. */
function forgetDeleted(
  named: Map<string, string>,
  monitors: readonly Monitor[],
  { note }: Pick<Terminal, 'note'>,
): void {
  const there = new Set(monitors.map(({ id }) => id));
  for (const [id, name] of named) {
    if (there.has(id)) continue;
    named.delete(id);
    note(plain(`The monitor "${name}" was deleted.`));
  }
}

/** A test run against another URL does not show in `lastCheckedAt`: it is printed with the next event. */
function hasNews({ lastCheckedAt }: Monitor, cursor: string | undefined): boolean {
  return lastCheckedAt !== null && (cursor === undefined || Date.parse(lastCheckedAt) > Date.parse(cursor));
}

/** @param onGroup told how many were asked by now */
async function gather(
  monitors: readonly Monitor[],
  read: (monitor: Monitor) => Promise<Event[]>,
  onGroup: (done: number) => void = () => undefined,
): Promise<Event[]> {
  const events: Event[] = [];
  for (let from = 0; from < monitors.length; from += AT_ONCE) {
    onGroup(from);
    const group = monitors.slice(from, from + AT_ONCE);
    const pages = await Promise.all(group.map((monitor) => read(monitor).catch(noneOfDeleted)));
    for (const page of pages) events.push(...page);
  }
  return events;
}

function noneOfDeleted(error: unknown): Event[] {
  if (error instanceof ApiError && error.status === 404) return [];
  throw error;
}

/** Until the terminal's signal, or there is no more to look for; while the API is away, less and less often. */
async function repeat(
  look: () => Promise<boolean>,
  { signal, note }: Pick<Terminal, 'signal' | 'note'>,
  everyMs: number,
): Promise<void> {
  let failures = 0;
  while (!signal.aborted) {
    const waitMs = failures === 0 ? everyMs : Math.min(everyMs * 2 ** failures, LONGEST_BACKOFF_MS);
    await delay(waitMs, undefined, { signal }).catch(() => undefined);
    if (signal.aborted) return;
    try {
      const goesOn = await look();
      if (failures > 0) note('The API answers again.');
      failures = 0;
      if (!goesOn) return;
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
