import { setTimeout as wait } from 'node:timers/promises';
import type { DashboardRequest } from '../dashboard-session.ts';

const RETRY_MS = 100;

/** A dashboard that follows its account and reconnects when the stream ends. */
export class StreamClient {
  readonly tally = {
    opened: 0,
    /** Responses with 503, as from a server that shuts down. */
    unavailable: 0,
    unexpected: 0,
    /** Streams that the server did not end properly. */
    broken: 0,
    records: 0,
    /** `reset` events, after which the client may have missed records. */
    resets: 0,
  };
  readonly #request: DashboardRequest;
  readonly #onRecord: (id: string) => void;
  readonly #stop = new AbortController();
  readonly #running: Promise<void>;
  #lastEventId: string | null = null;

  /** @param onRecord receives the id of each event and status change */
  constructor(request: DashboardRequest, onRecord: (id: string) => void) {
    this.#request = request;
    this.#onRecord = onRecord;
    this.#running = this.#follow();
  }

  async stop(): Promise<void> {
    this.#stop.abort();
    await this.#running;
  }

  async #follow(): Promise<void> {
    const { signal } = this.#stop;
    while (!signal.aborted) {
      const query = this.#lastEventId === null ? '' : `?lastEventId=${this.#lastEventId}`;
      const response = await this.#request('GET', `/stream${query}`, undefined, { signal }).catch(() => null);
      if (response?.status === 200) await this.#read(response);
      else if (response !== null) {
        await response.text().catch(() => '');
        this.tally[response.status === 503 ? 'unavailable' : 'unexpected'] += 1;
      }
      await wait(RETRY_MS, undefined, { signal }).catch(() => undefined);
    }
  }

  async #read({ body }: Response): Promise<void> {
    this.tally.opened += 1;
    let rest = '';
    try {
      for await (const text of body?.pipeThrough(new TextDecoderStream()) ?? []) {
        const blocks = (rest + text).split('\n\n');
        rest = blocks.pop() ?? '';
        for (const block of blocks) this.#take(block);
      }
    } catch {
      if (!this.#stop.signal.aborted) this.tally.broken += 1;
    }
  }

  #take(block: string): void {
    const lines = [...block.matchAll(/^(\w+): ?(.*)$/gm)];
    const { id, event, data } = Object.fromEntries(lines.map(([, name, value]) => [name, value]));
    this.#lastEventId = id ?? this.#lastEventId;
    if (data === undefined || event === 'heartbeat') return;
    if (event === 'reset') {
      this.tally.resets += 1;
      return;
    }
    this.tally.records += 1;
    this.#onRecord((JSON.parse(data) as { id: string }).id);
  }
}
