import { setTimeout as delay } from 'node:timers/promises';
import type { Selector } from '@tocsin/contracts/labels/selector';
import { matchesSelector } from '@tocsin/contracts/labels/selector-syntax';
import type { Event } from '@tocsin/contracts/monitors/events';
import type { Monitor } from '@tocsin/contracts/monitors/monitor';
import type { ApiClient } from '../http/api-client.ts';
import { ApiError } from '../http/api-error.ts';
import { EXIT, type ExitCode } from '../terminal/cli-error.ts';
import { withProgress, type Terminal } from '../terminal/terminal.ts';
import { plain } from '../terminal/text.ts';
import { eventsAfter, eventText, PAGE_SIZE, requireOnePage } from './events.ts';
import { findMonitors } from './monitors.ts';

const MAX_BACKOFF_MS = 15_000;
const CONCURRENT_REQUESTS = 8;
/** Pause after a full page, so that a long backlog stays below the default rate limit. */
const PAUSE_MS = 100;
/** Monitors are looked up again after this many polls. */
const POLLS_PER_LOOKUP = 10;

export interface TailFlags {
  readonly selector?: Selector;
  readonly follow?: boolean;
  readonly limit: number;
  readonly since?: string;
  readonly every: number;
  readonly json?: boolean;
}

type Api = Pick<ApiClient, 'listMonitors' | 'listEvents' | 'tailEvents'>;
type OnProgress = (done: number) => void;

/**
 * Prints the latest events of monitors and, with `follow`, new events until the command is stopped. It polls the account's tail with one
 * request at a time, so that no event is missed or repeated, even with many monitors or a long outage of the API.
 * @param words monitors in addition to current matches of the selector. Without both, all monitors including future ones
 */
export async function tail(
  api: Api,
  terminal: Terminal,
  words: readonly string[],
  flags: TailFlags,
): Promise<ExitCode> {
  if (flags.since === undefined) requireOnePage(flags.limit);
  // Read before the first events, so that no event in between is missed. Duplicates are skipped.
  const start = flags.follow === true ? await api.tailEvents(PAGE_SIZE) : null;
  const followsAll = words.length === 0 && flags.selector === undefined;
  const monitors = followsAll ? await api.listMonitors() : await findMonitors(api, words, flags.selector);
  /** Timestamps of the last read events by monitor. */
  const read = new Map<string, string>();
  const isNew = ({ monitorId, timestamp }: Event): boolean => timestamp > (read.get(monitorId) ?? '');
  const print = (events: readonly Event[]): void => {
    for (const event of events) {
      read.set(event.monitorId, event.timestamp);
      if (flags.json === true) terminal.printJson(event);
      else terminal.print(eventText(event, terminal.colors));
    }
  };
  print((await readFirst(api, terminal, monitors, read, flags)).toSorted(byTime));
  if (start === null) return EXIT.ok;
  const wanted = followsAll ? null : new Map(monitors.map(({ id, name }) => [id, name]));
  const isWanted = ({ monitorId }: Event): boolean => wanted === null || wanted.has(monitorId);
  let { cursor } = start;
  let polls = 0;
  await repeat(terminal, flags.every * 1_000, async () => {
    polls += 1;
    if (wanted !== null && polls % POLLS_PER_LOOKUP === 0) {
      const existing = await api.listMonitors();
      forgetDeleted(wanted, existing, terminal);
      const { selector } = flags;
      if (selector !== undefined) {
        // Monitors that no longer match are still followed.
        for (const { id, name, labels } of existing)
          if (matchesSelector(selector, labels)) wanted.set(id, name);
      } else if (wanted.size === 0) return 'end';
    }
    const page = await api.tailEvents(PAGE_SIZE, cursor);
    print(page.events.filter((event) => isWanted(event) && isNew(event)));
    ({ cursor } = page);
    return page.events.length < PAGE_SIZE ? 'wait' : 'continue';
  });
  return EXIT.ok;
}

/** Reads the events to print first. @param read receives the timestamp of each monitor's last event */
async function readFirst(
  api: Api,
  terminal: Terminal,
  monitors: readonly Monitor[],
  read: Map<string, string>,
  { limit, since }: TailFlags,
): Promise<Event[]> {
  if (since === undefined && limit === 0) return [];
  return withProgress(terminal, 'Reading events …', monitors.length, (update) => {
    const onProgress: OnProgress = (done) => update('Reading events …', done);
    return since === undefined
      ? readLatest(api, monitors, read, limit, onProgress)
      : readAll(monitors, ({ id }) => eventsAfter(api, id, since), onProgress);
  });
}

/** Reads the latest events across monitors. Starts with recently checked monitors, and stops when older ones cannot contribute. */
async function readLatest(
  api: Api,
  monitors: readonly Monitor[],
  read: Map<string, string>,
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
    // Later events follow the latest read event, even if that is not printed.
    for (const event of events) read.set(event.monitorId, event.timestamp);
    latest = [...latest, ...events].toSorted(byTime).slice(-limit);
    onProgress(from);
  }
  return latest;
}

function checkedAt({ lastCheckedAt }: Monitor): number {
  return lastCheckedAt === null ? 0 : Date.parse(lastCheckedAt);
}

/** Reports deleted monitors, so that the user does not wait for their results. */
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

/** Reads events in small groups of monitors. Monitors deleted meanwhile have no events. */
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

/** Polls until the command is stopped or `poll` returns `end`. Delays grow while the API is unavailable. */
async function repeat(
  { signal, note }: Pick<Terminal, 'signal' | 'note'>,
  everyMs: number,
  poll: () => Promise<'wait' | 'continue' | 'end'>,
): Promise<void> {
  let failures = 0;
  let waitMs = everyMs;
  while (!signal.aborted) {
    await delay(waitMs, undefined, { signal }).catch(() => undefined);
    if (signal.aborted) return;
    try {
      const next = await poll();
      if (failures > 0) note('The API is available again.');
      failures = 0;
      if (next === 'end') return;
      waitMs = next === 'wait' ? everyMs : Math.min(everyMs, PAUSE_MS);
    } catch (error) {
      if (signal.aborted) return;
      if (!(error instanceof ApiError) || !error.retryable) throw error;
      if (failures === 0) note(plain(`${error.message} Waiting until the API is available again.`));
      failures += 1;
      waitMs = Math.min(everyMs * 2 ** failures, MAX_BACKOFF_MS);
    }
  }
}

function byTime(one: Event, other: Event): number {
  return (
    Date.parse(one.timestamp) - Date.parse(other.timestamp) || (one.monitorId < other.monitorId ? -1 : 1)
  );
}
