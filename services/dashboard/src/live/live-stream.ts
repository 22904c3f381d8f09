import type { Incident } from '@tocsin/contracts/incidents/incident';
import { STREAM_HEARTBEAT_SECONDS } from '@tocsin/contracts/limits';
import type { Digest } from '@tocsin/contracts/live-stream/digest';
import type { Event, StatusChange } from '@tocsin/contracts/monitors/events';

const PATH = '/api/dashboard/stream';
/** Pages render at most this often, however many records arrive. */
const FLUSH_EVERY_MS = 250;
/** After a drop the stream replays the last ten seconds. Their IDs are still known, so that duplicates are dropped. */
const MAX_KNOWN_IDS = 20_000;
const REOPEN_AFTER_MS = 5_000;
/** After two missed heartbeats the connection is considered dead. */
const SILENT_AFTER_MS = (2 * STREAM_HEARTBEAT_SECONDS + 5) * 1_000;

export type LiveStateName = 'connecting' | 'live' | 'lost';

export interface LiveBatch {
  readonly checks: readonly Event[];
  readonly statusChanges: readonly StatusChange[];
  /** Records may be missing: lists must be reloaded. */
  readonly reset: boolean;
}

/** What the server's list of monitors was after all batches before it. */
export interface LiveDigest extends Digest {
  /** Of the read that it belongs to. */
  readonly position: string;
}

/** Delivers the account's records in batches, as they happen (`GET /api/dashboard/stream`). It resumes after a drop and drops duplicates. */
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
  readonly #incidentListeners = new Set<(incident: Incident) => void>();
  readonly #digestListeners = new Set<(digest: LiveDigest) => void>();
  readonly #regionsListeners = new Set<() => void>();
  readonly #stateListeners = new Set<() => void>();

  /** Whether the stream is needed while the page is hidden. */
  staysOpen = false;

  get state(): LiveStateName {
    return this.#state;
  }

  /** When the server last sent something, in epoch milliseconds. While the stream is lost, the pages show the state of that time. */
  get heardAt(): number {
    return this.#heardAt;
  }

  /** Whether the open stream continues where the previous one ended. */
  get resumed(): boolean {
    return this.#resumed;
  }

  /** Continues where it was, or else begins at `position`; without both, now. */
  open(position = ''): void {
    this.#disconnect();
    if (this.#lastEventId === '') this.#lastEventId = position;
    const query = this.#lastEventId === '' ? '' : `?lastEventId=${encodeURIComponent(this.#lastEventId)}`;
    const source = new EventSource(`${PATH}${query}`);
    this.#source = source;
    this.#expectHeartbeat();
    let hasOpened = false;
    source.addEventListener('open', () => {
      // A browser that reconnects automatically sends the last position.
      this.#resumed = hasOpened || query !== '';
      hasOpened = true;
      this.#hear();
      this.#setState('live');
    });
    this.#listen(source);
    source.addEventListener('error', () => {
      this.#setState('lost');
      // A browser reconnects after a drop, but not after a response that is not an event stream.
      if (source.readyState !== EventSource.CLOSED) return;
      clearTimeout(this.#reopen);
      this.#reopen = setTimeout(() => this.open(), REOPEN_AFTER_MS);
    });
  }

  /** Closes the connection until `open`, which resumes from here. Pending records are still delivered. */
  pause(): void {
    this.#disconnect();
    this.#setState('connecting');
  }

  close(): void {
    this.pause();
    if (this.#flush !== null) clearTimeout(this.#flush);
    this.#flush = null;
    this.#pending = empty();
  }

  /** @returns a function that unsubscribes */
  onBatch(listener: (batch: LiveBatch) => void): () => void {
    this.#batchListeners.add(listener);
    return () => this.#batchListeners.delete(listener);
  }

  /** For incidents whose acknowledgement or notes changed. @returns a function that unsubscribes */
  onIncident(listener: (incident: Incident) => void): () => void {
    this.#incidentListeners.add(listener);
    return () => this.#incidentListeners.delete(listener);
  }

  /** @returns a function that unsubscribes */
  onDigest(listener: (digest: LiveDigest) => void): () => void {
    this.#digestListeners.add(listener);
    return () => this.#digestListeners.delete(listener);
  }

  /** For regions whose checks have become late, or are in time again. @returns a function that unsubscribes */
  onRegions(listener: () => void): () => void {
    this.#regionsListeners.add(listener);
    return () => this.#regionsListeners.delete(listener);
  }

  /** @returns a function that unsubscribes */
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
    source.addEventListener('incident', (message) => {
      this.#hear(message);
      const incident = JSON.parse(message.data) as Incident;
      for (const listener of this.#incidentListeners) listener(incident);
    });
    source.addEventListener('regions', (message) => {
      this.#hear(message);
      for (const listener of this.#regionsListeners) listener();
    });
    source.addEventListener('reset', (message) => {
      this.#hear(message);
      this.#pending.reset = true;
      this.#flushSoon();
    });
    source.addEventListener('digest', (message) => {
      this.#hear(message);
      this.#deliver();
      const digest = { ...(JSON.parse(message.data) as Digest), position: message.lastEventId };
      for (const listener of this.#digestListeners) listener(digest);
    });
    source.addEventListener('heartbeat', (message) => this.#hear(message));
  }

  /** @param message carries the position; undefined when the stream opens */
  #hear(message?: MessageEvent): void {
    if (message !== undefined) this.#lastEventId = message.lastEventId;
    this.#heardAt = Date.now();
    this.#expectHeartbeat();
  }

  /** A browser may notice a dead connection only after minutes, even one that it is opening. */
  #expectHeartbeat(): void {
    clearTimeout(this.#silence);
    this.#silence = setTimeout(() => {
      this.#setState('lost');
      this.open();
    }, SILENT_AFTER_MS);
  }

  #disconnect(): void {
    this.#source?.close();
    this.#source = null;
    clearTimeout(this.#reopen);
    clearTimeout(this.#silence);
  }

  #isNew(id: string, message: MessageEvent): boolean {
    this.#hear(message);
    if (this.#known.has(id)) return false;
    this.#known.add(id);
    if (this.#known.size > MAX_KNOWN_IDS) {
      const [oldest] = this.#known;
      if (oldest !== undefined) this.#known.delete(oldest);
    }
    this.#flushSoon();
    return true;
  }

  #flushSoon(): void {
    this.#flush ??= setTimeout(() => this.#deliver(), FLUSH_EVERY_MS);
  }

  #deliver(): void {
    if (this.#flush === null) return;
    clearTimeout(this.#flush);
    this.#flush = null;
    const batch = this.#pending;
    this.#pending = empty();
    for (const listener of this.#batchListeners) listener(batch);
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

/** A tab that is hidden for a short time misses nothing. */
const PAUSE_AFTER_MS = 60_000;

/**
 * Closes the stream of a hidden page: over HTTP/1.1 all tabs of a browser share six connections to a server.
 * @returns a function that stops it
 */
export function pauseWhileHidden(
  stream: Pick<LiveStream, 'open' | 'pause' | 'staysOpen'>,
  page: Document,
): () => void {
  let timer: ReturnType<typeof setTimeout> | undefined;
  let isPaused = false;
  const onChange = (): void => {
    clearTimeout(timer);
    if (page.visibilityState === 'hidden') {
      timer = setTimeout(() => {
        if (stream.staysOpen) return;
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
