import { setTimeout as wait } from 'node:timers/promises';
import type { DashboardRequest } from '@tocsin/lab/dashboard-session';

/** What a client of the live stream met. */
export interface StreamTally {
  opened: number;
  /** Responses 503: a server that stops accepts no streams. */
  unavailable: number;
  /** Responses with other statuses than 200 and 503. */
  unexpected: number;
  /** Ended by the server properly, and otherwise. */
  ended: number;
  broken: number;
  records: number;
  /** `reset` events: the client may have missed records. */
  resets: number;
}

const RETRY_MS = 100;

/** A dashboard that follows its account, and reconnects when the stream ends. */
export class StreamClient {
  readonly tally: StreamTally = {
    opened: 0,
    unavailable: 0,
    unexpected: 0,
    ended: 0,
    broken: 0,
    records: 0,
    resets: 0,
  };
  /** Resolves when the first stream is open. */
  readonly ready: Promise<void>;
  readonly #request: DashboardRequest;
  readonly #onRecord: (id: string) => void;
  readonly #stop = new AbortController();
  readonly #running: Promise<void>;
  #lastEventId: string | null = null;

  /** @param onRecord called with the id of each event and status change */
  constructor(request: DashboardRequest, onRecord: (id: string) => void) {
    this.#request = request;
    this.#onRecord = onRecord;
    let opened: (() => void) | undefined;
    this.ready = new Promise((resolve) => (opened = resolve));
    this.#running = this.#follow(() => opened?.());
  }

  async stop(): Promise<void> {
    this.#stop.abort();
    await this.#running;
  }

  async #follow(onOpen: () => void): Promise<void> {
    const { signal } = this.#stop;
    while (!signal.aborted) {
      const response = await this.#open();
      if (response !== null) onOpen();
      if (response?.body) await this.#read(response.body);
      await wait(RETRY_MS, undefined, { signal }).catch(() => undefined);
    }
  }

  /** Null if no server responds with a stream. */
  async #open(): Promise<Response | null> {
    const query = this.#lastEventId === null ? '' : `?lastEventId=${this.#lastEventId}`;
    try {
      const response = await this.#request('GET', `/stream${query}`, undefined, {
        signal: this.#stop.signal,
      });
      if (response.status === 200) {
        this.tally.opened += 1;
        return response;
      }
      await response.text();
      this.tally[response.status === 503 ? 'unavailable' : 'unexpected'] += 1;
      return null;
    } catch {
      return null;
    }
  }

  async #read(body: ReadableStream<Uint8Array>): Promise<void> {
    const decoder = new TextDecoder();
    let rest = '';
    try {
      for await (const bytes of body) {
        const blocks = (rest + decoder.decode(bytes, { stream: true })).split('\n\n');
        rest = blocks.pop() ?? '';
        for (const block of blocks) this.#take(block);
      }
      this.tally.ended += 1;
    } catch {
      if (!this.#stop.signal.aborted) this.tally.broken += 1;
    }
  }

  #take(block: string): void {
    const fields = new Map<string, string>();
    for (const line of block.split('\n')) {
      const colon = line.indexOf(':');
      fields.set(line.slice(0, colon), line.slice(colon + 1).trimStart());
    }
    this.#lastEventId = fields.get('id') ?? this.#lastEventId;
    const data = fields.get('data');
    const kind = fields.get('event');
    if (data === undefined || kind === 'heartbeat') return;
    if (kind === 'reset') {
      this.tally.resets += 1;
      return;
    }
    this.tally.records += 1;
    this.#onRecord((JSON.parse(data) as { id: string }).id);
  }
}
