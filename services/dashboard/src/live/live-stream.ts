import { STREAM_HEARTBEAT_SECONDS } from '@tocsin/contracts/limits';
import type { Event, StatusChange } from '@tocsin/contracts/monitors/events';

const PATH = '/api/dashboard/stream';
/** Pages redraw at most so often, however many records come. */
const FLUSH_EVERY_MS = 250;
/** Records are replayed from ten seconds before a drop; of these the ids are known. */
const REMEMBERED_IDS = 20_000;
const REOPEN_AFTER_MS = 5_000;
/** Longer than two heartbeats take: nobody is at the other end any more, or nothing of it comes through. */
const SILENT_AFTER_MS = (2 * STREAM_HEARTBEAT_SECONDS + 5) * 1_000;

export type LiveStateName = 'connecting' | 'live' | 'lost';

/** What came since the last time. */
export interface LiveBatch {
  readonly checks: readonly Event[];
  readonly statusChanges: readonly StatusChange[];
  /** Something may be missing: lists are to be loaded again. */
  readonly reset: boolean;
}

/** The account's records as they happen (`GET /api/dashboard/stream`), in batches, each record once, resumed after a drop. */
export class LiveStream {
  #source: EventSource | null = null;
  #state: LiveStateName = 'connecting';
  #lastEventId = '';
  #heardAt = Date.now();
  #resumed = false;
  #pending: { checks: Event[]; statusChanges: StatusChange[]; reset: boolean } = empty();
  #flush: ReturnType<typeof setTimeout> | null = null;
  #reopen: ReturnType<typeof setTimeout> | undefined;
  #silence: ReturnType<typeof setTimeout> | undefined;
  readonly #known = new Set<string>();
  readonly #batchListeners = new Set<(batch: LiveBatch) => void>();
  readonly #stateListeners = new Set<() => void>();

  get state(): LiveStateName {
    return this.#state;
  }

  /** When there was a sign of life, epoch milliseconds: while the stream is lost, what pages show is of then. */
  get heardAt(): number {
    return this.#heardAt;
  }

  /** Whether the stream that is open goes on where the one before it ended. */
  get resumed(): boolean {
    return this.#resumed;
  }

  open(): void {
    this.#letGo();
    const query = this.#lastEventId === '' ? '' : `?lastEventId=${encodeURIComponent(this.#lastEventId)}`;
    const source = new EventSource(`${PATH}${query}`);
    this.#source = source;
    this.#awaitLife();
    let hasOpened = false;
    source.addEventListener('open', () => {
      // A browser that comes back by itself sends the position that every stream begins with.
      this.#resumed = hasOpened || query !== '';
      hasOpened = true;
      this.#hear();
      this.#setState('live');
    });
    this.#listen(source);
    source.addEventListener('error', () => {
      this.#setState('lost');
      // A browser comes back by itself after a drop, but gives up after an answer that is no stream.
      if (source.readyState !== EventSource.CLOSED) return;
      clearTimeout(this.#reopen);
      this.#reopen = setTimeout(() => this.open(), REOPEN_AFTER_MS);
    });
  }

  /** Lets go of the connection until `open`, which goes on from here. What has come is still told. */
  pause(): void {
    this.#letGo();
    this.#setState('connecting');
  }

  close(): void {
    this.pause();
    if (this.#flush !== null) clearTimeout(this.#flush);
    this.#flush = null;
    this.#pending = empty();
  }

  /** @returns what ends it */
  onBatch(listener: (batch: LiveBatch) => void): () => void {
    this.#batchListeners.add(listener);
    return () => this.#batchListeners.delete(listener);
  }

  /** @returns what ends it */
  onState(listener: () => void): () => void {
    this.#stateListeners.add(listener);
    return () => this.#stateListeners.delete(listener);
  }

  #listen(source: EventSource): void {
    source.addEventListener('check', (message) => {
      const event = JSON.parse(message.data) as Event;
      if (this.#isNew(event.id, message)) this.#pending.checks.push(event);
    });
    source.addEventListener('status-change', (message) => {
      const change = JSON.parse(message.data) as StatusChange;
      if (this.#isNew(change.id, message)) this.#pending.statusChanges.push(change);
    });
    source.addEventListener('reset', (message) => {
      this.#hear(message);
      this.#pending.reset = true;
      this.#flushSoon();
    });
    source.addEventListener('heartbeat', (message) => this.#hear(message));
  }

  /** @param message what came, with the position it is at; without one a stream was opened */
  #hear(message?: MessageEvent): void {
    if (message !== undefined) this.#lastEventId = message.lastEventId;
    this.#heardAt = Date.now();
    this.#awaitLife();
  }

  /** A connection can be dead for minutes before a browser is told so; one that is being opened can, too. */
  #awaitLife(): void {
    clearTimeout(this.#silence);
    this.#silence = setTimeout(() => {
      this.#setState('lost');
      this.open();
    }, SILENT_AFTER_MS);
  }

  #letGo(): void {
    this.#source?.close();
    this.#source = null;
    clearTimeout(this.#reopen);
    clearTimeout(this.#silence);
  }

  #isNew(id: string, message: MessageEvent): boolean {
    this.#hear(message);
    if (this.#known.has(id)) return false;
    this.#known.add(id);
    if (this.#known.size > REMEMBERED_IDS) {
      const [oldest] = this.#known;
      if (oldest !== undefined) this.#known.delete(oldest);
    }
    this.#flushSoon();
    return true;
  }

  #flushSoon(): void {
    this.#flush ??= setTimeout(() => {
      this.#flush = null;
      const batch = this.#pending;
      this.#pending = empty();
      for (const listener of this.#batchListeners) listener(batch);
    }, FLUSH_EVERY_MS);
  }

  #setState(state: LiveStateName): void {
    if (state === this.#state) return;
    this.#state = state;
    for (const listener of this.#stateListeners) listener();
  }
}

function empty(): { checks: Event[]; statusChanges: StatusChange[]; reset: boolean } {
  return { checks: [], statusChanges: [], reset: false };
}

/** Somebody who looks at another tab for a moment misses nothing; beyond that the connection is worth more to the tabs that are seen. */
const PAUSE_AFTER_MS = 60_000;

/**
 * Lets a page that nobody sees let go of its stream: over HTTP/1.1 a browser has six connections to a server, for all its tabs.
 * @returns what ends it
 */
export function pauseWhileHidden(stream: Pick<LiveStream, 'open' | 'pause'>, page: Document): () => void {
  let timer: ReturnType<typeof setTimeout> | undefined;
  let isPaused = false;
  const onChange = (): void => {
    clearTimeout(timer);
    if (page.visibilityState === 'hidden') {
      timer = setTimeout(() => {
        isPaused = true;
        stream.pause();
      }, PAUSE_AFTER_MS);
    } else if (isPaused) {
      isPaused = false;
      stream.open();
    }
  };
  page.addEventListener('visibilitychange', onChange);
  return () => {
    clearTimeout(timer);
    page.removeEventListener('visibilitychange', onChange);
  };
}
