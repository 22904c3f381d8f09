import type { MonitorStatus } from '@tocsin/contracts/vocabulary';
import { type TocsinClient, TocsinError } from './tocsin-client.ts';

const PAGE_SIZE = 500;
/** Above this number, one list is cheaper than a request for each monitor. */
const MAX_SINGLE_READS = 20;
/** Interval of the lists, which find changes without a check, such as maintenance and edits in the dashboard. */
const LIST_MS = 60_000;
const MIN_LIST_MS = 2_000;

export interface KnownMonitor {
  readonly source: string | null;
  readonly status: MonitorStatus;
  readonly statusSince: string;
  readonly updatedAt: string;
}

export interface StatusesOptions {
  readonly tocsin: TocsinClient;
  /** Selects the monitors of this cluster by their labels. */
  readonly selector: string;
  readonly onStatus: (id: string, monitor: KnownMonitor) => void;
  /** Called with the source of monitors that were changed or deleted, possibly not by the operator. */
  readonly onDrift: (source: string) => void;
}

/** Follows the statuses of monitors. The events of the account tell which monitors to read again. */
export class Statuses {
  readonly #options: StatusesOptions;
  #known = new Map<string, KnownMonitor>();
  readonly #suspects = new Set<string>();
  #cursor: string | undefined;
  #listedAt = -Infinity;

  constructor(options: StatusesOptions) {
    this.#options = options;
  }

  get(id: string): KnownMonitor | undefined {
    return this.#known.get(id);
  }

  /** The sources that have monitors of this cluster. */
  sources(): Set<string> {
    return new Set([...this.#known.values()].flatMap(({ source }) => source ?? []));
  }

  /** Reads a monitor at the next poll. */
  expect(id: string): void {
    if (!this.#known.has(id)) this.#suspects.add(id);
  }

  /** Reads new events, and the monitors whose status they contradict. @throws TocsinError */
  async poll(signal: AbortSignal): Promise<void> {
    await this.#readEvents(signal);
    const isFull = this.#suspects.size > MAX_SINGLE_READS;
    const age = performance.now() - this.#listedAt;
    if (age > LIST_MS || (isFull && age > MIN_LIST_MS)) await this.#list(signal);
    else if (!isFull) await this.#readSuspects(signal);
  }

  async #readEvents(signal: AbortSignal): Promise<void> {
    for (;;) {
      const query = { limit: String(PAGE_SIZE), ...(this.#cursor !== undefined && { since: this.#cursor }) };
      const { events, cursor } = await this.#options.tocsin('GET /api/cli/events', { query, signal });
      this.#cursor = cursor;
      for (const { monitorId, status } of events) {
        const known = this.#known.get(monitorId);
        if (known !== undefined && known.status !== status && known.status !== 'MAINTENANCE')
          this.#suspects.add(monitorId);
      }
      if (events.length < PAGE_SIZE) return;
    }
  }

  async #readSuspects(signal: AbortSignal): Promise<void> {
    for (const id of this.#suspects) {
      const monitor = await this.#options
        .tocsin('GET /api/cli/monitors/:id', { id, signal })
        .then((response) => response.monitor)
        .catch((error: unknown) => {
          if (error instanceof TocsinError && error.status === 404) return null;
          throw error;
        });
      this.#suspects.delete(id);
      if (monitor !== null) this.#learn(this.#known, monitor, this.#known.get(id));
    }
  }

  async #list(signal: AbortSignal): Promise<void> {
    const { tocsin, selector, onDrift } = this.#options;
    const { monitors } = await tocsin('GET /api/cli/monitors', { query: { labels: selector }, signal });
    this.#suspects.clear();
    this.#listedAt = performance.now();
    const before = this.#known;
    const drifted = new Set<string | null>();
    this.#known = new Map();
    for (const monitor of monitors) {
      const { id, updatedAt, source } = monitor;
      if ((before.get(id)?.updatedAt ?? updatedAt) !== updatedAt) drifted.add(source);
      this.#learn(this.#known, monitor, before.get(id));
    }
    for (const [id, { source }] of before) if (!this.#known.has(id)) drifted.add(source);
    for (const source of drifted) if (source !== null) onDrift(source);
  }

  #learn(
    into: Map<string, KnownMonitor>,
    { id, source, status, statusSince, updatedAt }: KnownMonitor & { readonly id: string },
    before: KnownMonitor | undefined,
  ): void {
    const known = { source, status, statusSince, updatedAt };
    into.set(id, known);
    // A resource without a status gets its first one after the first check.
    const isNew = before === undefined && status === 'PENDING';
    const isSame = before?.status === status && before.statusSince === statusSince;
    if (!isNew && !isSame) this.#options.onStatus(id, known);
  }
}
