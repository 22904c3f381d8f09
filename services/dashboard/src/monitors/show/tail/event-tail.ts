import { LIMITS } from '@tocsin/contracts/limits';
import type { Event } from '@tocsin/contracts/monitors/events';
import type { LiveBatch, LiveStream } from '../../../live/live-stream.ts';

const FIRST_PAGE_SIZE = LIMITS.eventsPerRequest.default;
const CATCH_UP_LIMIT = LIMITS.eventsPerRequest.max;

/** Like `GET …/events`: without `since` the latest events, with it the first events after that timestamp. */
export type LoadEvents = (query: { limit: number; since?: string }) => Promise<readonly Event[]>;

export interface TailSnapshot {
  /** Newest first. */
  readonly events: readonly Event[];
  /** Whether the first page is still loading. */
  readonly loading: boolean;
  /** Why events may be missing, or null. */
  readonly error: unknown;
}

/**
 * The latest events of a monitor, without gaps. The live stream delivers them. When it may have missed some (it opens, breaks or sends
 * `reset`), the API delivers those after the last event before which none is missing.
 */
export class EventTail {
  readonly #monitorId: string;
  readonly #stream: Pick<LiveStream, 'state' | 'onBatch' | 'onState'>;
  readonly #load: LoadEvents;
  readonly #listeners = new Set<() => void>();
  #snapshot: TailSnapshot = { events: [], loading: true, error: null };
  /** The timestamp up to which no event is missing. Null before the first event. */
  #completeUntil: string | null = null;
  /** Counts the times when the stream may have missed events. A catch-up covers only those before its start. */
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

  /** @returns a function that unsubscribes */
  onChange(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Loads the first page and follows the stream. @returns a function that stops it */
  start(): () => void {
    const unsubscribeBatches = this.#stream.onBatch((batch) => this.#take(batch));
    const unsubscribeStates = this.#stream.onState(() => {
      this.#breaks += 1;
      if (this.#stream.state === 'live') void this.catchUp();
    });
    this.#breaks += 1;
    void this.catchUp();
    return () => {
      unsubscribeBatches();
      unsubscribeStates();
    };
  }

  /** Loads the events that may be missing. Never rejects: `snapshot.error` has the error. */
  async catchUp(): Promise<void> {
    this.#catchingUp ??= this.#catchUpUntilComplete().finally(() => (this.#catchingUp = null));
    await this.#catchingUp;
  }

  async #catchUpUntilComplete(): Promise<void> {
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
    if (this.#completeUntil === null) return this.#load({ limit: FIRST_PAGE_SIZE });
    const missed = await this.#load({ limit: CATCH_UP_LIMIT, since: this.#completeUntil });
    // So many fill the tail: only the latest are needed.
    return missed.length < CATCH_UP_LIMIT ? missed : this.#load({ limit: MAX_EVENTS });
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

/** The maximum length of the tail. */
export const MAX_EVENTS = 200;

/**
 * Adds events to a list, newest first, without duplicates, at most `MAX_EVENTS`. Without new events it returns the same list.
 * @param more in any order
 */
export function mergeEvents(events: readonly Event[], more: readonly Event[]): readonly Event[] {
  const known = new Set(events.map(({ id }) => id));
  const added = more.filter(({ id }) => !known.has(id) && known.add(id));
  if (added.length === 0) return events;
  return [...events, ...added].sort(newestFirst).slice(0, MAX_EVENTS);
}

/** Timestamps of the API have one format, so they compare as text. */
function newestFirst(one: Event, other: Event): number {
  if (one.timestamp === other.timestamp) return 0;
  return one.timestamp < other.timestamp ? 1 : -1;
}

/** The latest timestamp of events in any order, or null. */
export function latestTimestamp(events: readonly Event[]): string | null {
  return events.reduce<string | null>((latest, { timestamp }) => later(latest, timestamp), null);
}

/** The number of events that are later than all of `shown`. Both lists are newest first. */
export function countNewer(events: readonly Event[], shown: readonly Event[]): number {
  const newest = shown[0]?.timestamp;
  return newest === undefined ? events.length : events.filter(({ timestamp }) => timestamp > newest).length;
}
