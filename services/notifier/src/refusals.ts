import type { RefusedRecord } from '@tocsin/db/database/try-alone';

/** A refused record waits this long before it is tried again. The wait doubles with each refusal. */
const WAIT_MS = { first: 1_000, max: 30_000 } as const;
/** If more are refused, the cause is not in them. The rest stays in the batches. */
const MAX_REFUSED = 1_000;
/** A record is forgotten after this many retries in a row that found nothing to do. */
const MAX_IDLE_RETRIES = 10;

interface Refusal<Item> {
  readonly record: Item;
  readonly waitMs: number;
  readonly notBefore: number;
  readonly idleRetries: number;
}

/** Remembers the records that Postgres refuses. They are left out of the batches, and tried again alone, until they succeed. */
export class Refusals<Item extends RefusedRecord = RefusedRecord> {
  readonly #now: () => number;
  readonly #refused = new Map<string, Refusal<Item>>();

  constructor(now: () => number) {
    this.#now = now;
  }

  ids(accepts: (record: Item) => boolean = () => true): string[] {
    return [...this.#refused].flatMap(([id, { record }]) => (accepts(record) ? id : []));
  }

  /** The record to try again alone, or null if none is due. */
  next(): string | null {
    const now = this.#now();
    return [...this.#refused].find(([, { notBefore }]) => notBefore <= now)?.[0] ?? null;
  }

  add(records: readonly Item[]): void {
    for (const record of records) {
      const before = this.#refused.get(record.id);
      if (before === undefined && this.#refused.size >= MAX_REFUSED) continue;
      const waitMs = before === undefined ? WAIT_MS.first : Math.min(before.waitMs * 2, WAIT_MS.max);
      this.#wait({ record, waitMs, idleRetries: 0 });
    }
  }

  /** The record succeeded. */
  forget(id: string): void {
    this.#refused.delete(id);
  }

  /** A retry found nothing to do: the record has changed, or another process has locked it and is trying it. */
  noteIdle(id: string): void {
    const before = this.#refused.get(id);
    if (before === undefined) return;
    const idleRetries = before.idleRetries + 1;
    if (idleRetries >= MAX_IDLE_RETRIES) this.forget(id);
    else this.#wait({ ...before, idleRetries });
  }

  /** The record goes to the end of the map, so that the others have their turn. */
  #wait(refusal: Omit<Refusal<Item>, 'notBefore'>): void {
    const { id } = refusal.record;
    this.#refused.delete(id);
    this.#refused.set(id, { ...refusal, notBefore: this.#now() + refusal.waitMs });
  }
}
