import type { Incident } from '@tocsin/contracts/incidents/incident';
import { STREAM_HEARTBEAT_SECONDS } from '@tocsin/contracts/limits';
import type { Digest } from '@tocsin/contracts/live-stream/digest';
import type { Event, StatusChange } from '@tocsin/contracts/monitors/events';
import { accountOfRequests } from '../session/account-in-path.ts';
import { SharedSource } from './shared-source.ts';

const PATH = '/api/dashboard/stream';
const MESSAGES = ['check', 'status-change', 'incident', 'regions', 'reset', 'digest', 'heartbeat'];
/** Pages render no more often than this, however many records arrive. */
const FLUSH_EVERY_MS = 250;
/** After a drop, the stream replays the last ten seconds. This many IDs are enough to recognize the duplicates. */
const MAX_KNOWN_IDS = 20_000;
const REOPEN_AFTER_MS = 5_000;
/** Two missed heartbeats, with a margin. */
const SILENT_AFTER_MS = (2 * STREAM_HEARTBEAT_SECONDS + 5) * 1_000;

export type LiveStateName = 'connecting' | 'live' | 'lost';

export interface LiveBatch {
  readonly checks: readonly Event[];
  readonly statusChanges: readonly StatusChange[];
  /** True if records may be missing, so that lists must be reloaded. */
  readonly reset: boolean;
}

/** Digest of the server's list of monitors after all batches delivered so far. */
export interface LiveDigest extends Digest {
  /** Position of the stream at which the server read the list. */
  readonly position: string;
}

interface LiveEvents {
  batch: LiveBatch;
  /** The acknowledgement or the notes of an incident have changed. */
  incident: Incident;
  digest: LiveDigest;
  /** The checks of a region have become late, or are on time again. */
  regions: undefined;
  state: LiveStateName;
}
type Listener<Name extends keyof LiveEvents> = (value: LiveEvents[Name]) => void;

/** Delivers the account's records in batches as they happen (`GET /api/dashboard/stream`). Resumes after a drop and skips duplicates. */
export class LiveStream {
  readonly #source = new SharedSource(MESSAGES);
  /** True if this tab may have missed messages of the leader. */
  #hasGap = true;
  /** True if the connection has been open before, or starts at a position. */
  #isResuming = false;
  #state: LiveStateName = 'connecting';
  #lastEventId = '';
  #heardAt = Date.now();
  #resumed = false;
  #pending: { checks: Event[]; statusChanges: StatusChange[]; reset: boolean } = empty();
  #flush: ReturnType<typeof setTimeout> | null = null;
  #reopen: ReturnType<typeof setTimeout> | undefined;
  #silence: ReturnType<typeof setTimeout> | undefined;
  readonly #known = new Set<string>();
  readonly #listeners: { readonly [Name in keyof LiveEvents]: Set<Listener<Name>> } = {
    batch: new Set(),
    incident: new Set(),
    digest: new Set(),
    regions: new Set(),
    state: new Set(),
  };

  constructor() {
    const on = (type: string, listener: (message: MessageEvent<string>) => void): void =>
      this.#source.addEventListener(type, (event) => listener(event as MessageEvent<string>));
    on('open', () => {
      this.#resumed = this.#source.isLeader ? this.#isResuming : !this.#hasGap;
      // A browser that reconnects automatically sends the last position.
      this.#isResuming = true;
      this.#hasGap = false;
      this.#hear();
      this.#setState('live');
    });
    on('error', () => {
      this.#setState('lost');
      // A browser reconnects after a drop, but not after a response that is not an event stream.
      if (!this.#source.hasFailed) return;
      clearTimeout(this.#reopen);
      this.#reopen = setTimeout(() => this.open(), REOPEN_AFTER_MS);
    });
    on('check', (message) => {
      const event = JSON.parse(message.data) as Event;
      if (this.#isNew(event.id, message)) this.#pending.checks.push(event);
    });
    on('status-change', (message) => {
      const change = JSON.parse(message.data) as StatusChange;
      if (this.#isNew(change.id, message)) this.#pending.statusChanges.push(change);
    });
    on('incident', (message) => {
      this.#hear(message);
      this.#emit('incident', JSON.parse(message.data) as Incident);
    });
    on('regions', (message) => {
      this.#hear(message);
      this.#emit('regions', undefined);
    });
    on('reset', (message) => {
      this.#hear(message);
      this.#pending.reset = true;
      this.#flushSoon();
    });
    on('digest', (message) => {
      this.#hear(message);
      this.#deliver();
      this.#emit('digest', { ...(JSON.parse(message.data) as Digest), position: message.lastEventId });
    });
    on('heartbeat', (message) => this.#hear(message));
  }

  /** Keeps the stream open while the page is hidden. */
  staysOpen = false;

  get state(): LiveStateName {
    return this.#state;
  }

  /** Epoch milliseconds of the last message. While the stream is lost, pages show the state at that time. */
  get heardAt(): number {
    return this.#heardAt;
  }

  /** True if the open stream continues where the previous one ended. */
  get resumed(): boolean {
    return this.#resumed;
  }

  /** Receives what another tab receives. Call before anything is read, so that this tab misses nothing. */
  listen(): void {
    this.#source.listen(nameOf(accountOfRequests()));
    this.#hasGap = false;
  }

  /** Resumes after the last message. The first connection starts at `position`, or now if it is empty. */
  open(position = ''): void {
    clearTimeout(this.#reopen);
    if (this.#lastEventId === '') this.#lastEventId = position;
    this.#isResuming = this.#lastEventId !== '';
    const account = accountOfRequests();
    this.#source.connect(nameOf(account), () => pathOf(account, this.#lastEventId));
    this.#expectHeartbeat();
  }

  /** Closes the connection until the next `open`, which resumes from here. Pending records are still delivered. */
  pause(): void {
    this.#source.close();
    this.#hasGap = true;
    clearTimeout(this.#reopen);
    clearTimeout(this.#silence);
    this.#setState('connecting');
  }

  close(): void {
    this.pause();
    if (this.#flush !== null) clearTimeout(this.#flush);
    this.#flush = null;
    this.#pending = empty();
  }

  /** @returns a function that unsubscribes */
  on<Name extends keyof LiveEvents>(name: Name, listener: Listener<Name>): () => void {
    this.#listeners[name].add(listener);
    return () => this.#listeners[name].delete(listener);
  }

  #emit<Name extends keyof LiveEvents>(name: Name, value: LiveEvents[Name]): void {
    for (const listener of this.#listeners[name]) listener(value);
  }

  /** @param message carries the position. Undefined when the stream opens */
  #hear(message?: MessageEvent): void {
    if (message !== undefined) this.#lastEventId = message.lastEventId;
    this.#heardAt = Date.now();
    this.#expectHeartbeat();
  }

  /** Detects dead connections. A browser may take minutes to notice one. */
  #expectHeartbeat(): void {
    clearTimeout(this.#silence);
    this.#silence = setTimeout(() => {
      this.#setState('lost');
      this.open();
    }, SILENT_AFTER_MS);
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
    this.#emit('batch', batch);
  }

  #setState(state: LiveStateName): void {
    if (state === this.#state) return;
    this.#state = state;
    this.#emit('state', state);
  }
}

function empty(): { checks: Event[]; statusChanges: StatusChange[]; reset: boolean } {
  return { checks: [], statusChanges: [], reset: false };
}

/** An `EventSource` cannot send the header that names the account. */
function pathOf(account: string | null, lastEventId: string): string {
  const query = new URLSearchParams({
    ...(account !== null && { account }),
    ...(lastEventId !== '' && { lastEventId }),
  });
  return query.size === 0 ? PATH : `${PATH}?${query.toString()}`;
}

/** The name of the stream between tabs. */
function nameOf(account: string | null): string {
  return `tocsin.stream.${account}`;
}

const PAUSE_AFTER_MS = 60_000;

/**
 * Closes the stream while the page is hidden, because hidden pages are often frozen, and when the page is left.
 * @returns a function that stops watching the page
 */
export function pauseWhileHidden(
  stream: Pick<LiveStream, 'open' | 'pause' | 'staysOpen'>,
  page: Document,
): () => void {
  let timer: ReturnType<typeof setTimeout> | undefined;
  let isPaused = false;
  const pause = (): void => {
    isPaused = true;
    stream.pause();
  };
  const onChange = (): void => {
    clearTimeout(timer);
    if (page.visibilityState === 'hidden') {
      timer = setTimeout(() => stream.staysOpen || pause(), PAUSE_AFTER_MS);
    } else if (isPaused) {
      isPaused = false;
      stream.open();
    }
  };
  page.addEventListener('visibilitychange', onChange);
  // Another tab takes over at once.
  page.defaultView?.addEventListener('pagehide', pause);
  return () => {
    clearTimeout(timer);
    page.defaultView?.removeEventListener('pagehide', pause);
    page.removeEventListener('visibilitychange', onChange);
  };
}
