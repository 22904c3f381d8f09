import { LIMITS } from '@tocsin/contracts/limits';
import type { Event } from '@tocsin/contracts/monitors/events';
import type { LiveBatch, LiveStream } from '../../../live/live-stream.ts';

const FIRST_PAGE = LIMITS.eventsPerRequest.default;
const MOST_CAUGHT_UP = LIMITS.eventsPerRequest.max;

/** As `GET …/events`: with `since` the first `limit` events after it, without it the latest. */
export type LoadEvents = (query: { limit: number; since?: string }) => Promise<readonly Event[]>;

/** What the tail shows now. */
export interface TailSnapshot {
  /** Newest first. */
  readonly events: readonly Event[];
  /** Whether the first page has not come yet. */
  readonly loading: boolean;
  /** What kept it from being complete; null where nothing did. */
  readonly error: unknown;
}

/**
 * The latest events of one monitor, without gaps: those of the live stream, and after whatever may have left some out (the stream
 * opens, breaks or says `reset`) those of the api since the last one that is known to have none missing before it.
 */
export class EventTail {
  readonly #monitorId: string;
  readonly #stream: Pick<LiveStream, 'state' | 'onBatch' | 'onState'>;
  readonly #load: LoadEvents;
  readonly #listeners = new Set<() => void>();
  #snapshot: TailSnapshot = { events: [], loading: true, error: null };
  /** Up to here nothing is missing; null before the first event. */
  #completeUntil: string | null = null;
  /** Counts what may have left events out, so that a catch-up knows whether it began before. */
  #breaks = 0;
  #caughtUpBreaks = -1;
  #catchingUp: Promise<void> | null = null;

  constructor(
    monitorId: string,
    stream: Pick<LiveStream, 'state' | 'onBatch' | 'onState'>,
    load: LoadEvents,
  ) {
    this.#monitorId = monitorId;
    this.#stream = stream;
    this.#load = load;
  }

  get snapshot(): TailSnapshot {
    return this.#snapshot;
  }

  /** @returns what ends it */
  onChange(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Loads the first page and follows the stream. @returns what ends it */
  start(): () => void {
    const forgetBatches = this.#stream.onBatch((batch) => this.#take(batch));
    const forgetStates = this.#stream.onState(() => {
      this.#breaks += 1;
      if (this.#stream.state === 'live') void this.catchUp();
    });
    this.#breaks += 1;
    void this.catchUp();
    return () => {
      forgetBatches();
      forgetStates();
    };
  }

  /** Loads what may be missing. Never rejects: `snapshot.error` says why not. */
  async catchUp(): Promise<void> {
    this.#catchingUp ??= this.#catchUpUntilWhole().finally(() => (this.#catchingUp = null));
    await this.#catchingUp;
  }

  async #catchUpUntilWhole(): Promise<void> {
    try {
      do {
        const breaks = this.#breaks;
        const loaded = await this.#loadMissing();
        this.#caughtUpBreaks = breaks;
        this.#completeUntil = later(this.#completeUntil, latestTimestamp(loaded));
        this.#show({ events: mergeEvents(this.#snapshot.events, loaded), loading: false, error: null });
      } while (this.#caughtUpBreaks !== this.#breaks);
    } catch (error) {
      this.#show({ ...this.#snapshot, loading: false, error });
    }
  }

  async #loadMissing(): Promise<readonly Event[]> {
    if (this.#completeUntil === null) return this.#load({ limit: FIRST_PAGE });
    const missed = await this.#load({ limit: MOST_CAUGHT_UP, since: this.#completeUntil });
    // After so many only the latest are of interest: they fill the tail by themselves.
    return missed.length < MOST_CAUGHT_UP ? missed : this.#load({ limit: MOST_EVENTS });
  }

  #take(batch: LiveBatch): void {
    if (batch.reset) this.#breaks += 1;
    const own = batch.checks.filter(({ monitorId }) => monitorId === this.#monitorId);
    if (this.#caughtUpBreaks === this.#breaks)
      this.#completeUntil = later(this.#completeUntil, latestTimestamp(own));
    const events = mergeEvents(this.#snapshot.events, own);
    if (events !== this.#snapshot.events) this.#show({ ...this.#snapshot, events });
    if (batch.reset) void this.catchUp();
  }

  #show(snapshot: TailSnapshot): void {
    this.#snapshot = snapshot;
    for (const listener of this.#listeners) listener();
  }
}

function later(one: string | null, other: string | null): string | null {
  if (one === null || other === null) return one ?? other;
  return one > other ? one : other;
}

/** The tail shows at most so many. */
export const MOST_EVENTS = 200;

/**
 * The events of one monitor, newest first, each once, at most `MOST_EVENTS`. Events that were there stay the same objects, and the
 * list itself does where nothing is added.
 * @param more in any order
 */
export function mergeEvents(events: readonly Event[], more: readonly Event[]): readonly Event[] {
  const known = new Set(events.map(({ id }) => id));
  const added = more.filter(({ id }) => !known.has(id) && known.add(id));
  if (added.length === 0) return events;
  return [...events, ...added].sort(newestFirst).slice(0, MOST_EVENTS);
}

/** Timestamps of the API are all of one form, so that text compares as time. */
function newestFirst(one: Event, other: Event): number {
  if (one.timestamp === other.timestamp) return 0;
  return one.timestamp < other.timestamp ? 1 : -1;
}

/** The latest timestamp of events in any order; null without any. */
export function latestTimestamp(events: readonly Event[]): string | null {
  let latest: string | null = null;
  for (const { timestamp } of events) if (latest === null || timestamp > latest) latest = timestamp;
  return latest;
}

/** How many of `events` are later than all of `shown`; both newest first. */
export function countNewer(events: readonly Event[], shown: readonly Event[]): number {
  const newest = shown[0]?.timestamp;
  return newest === undefined ? events.length : events.filter(({ timestamp }) => timestamp > newest).length;
}
