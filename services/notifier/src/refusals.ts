import type { RefusedRecord } from '@tocsin/db/database/try-alone';

/** Delay of the first retry. It doubles with each further refusal. */
const WAIT_MS = { first: 1_000, max: 30_000 } as const;
/** If more records are refused, they are not the cause. The rest stays in the batches. */
const MAX_REFUSED = 1_000;
/** After this many consecutive retries without work, the record is forgotten. */
const MAX_IDLE_RETRIES = 10;

interface Refusal<Item> {
  readonly record: Item;
  readonly waitMs: number;
  readonly notBefore: number;
  readonly idleRetries: number;
}

/** Remembers the records that Postgres refuses. Batches exclude them, and they are retried alone until they succeed. */
export class Refusals<Item extends RefusedRecord = RefusedRecord> {
  readonly #now: () => number;
  readonly #refused = new Map<string, Refusal<Item>>();

  constructor(now: () => number) {
    this.#now = now;
  }

  ids(accepts: (record: Item) => boolean = () => true): string[] {
    return [...this.#refused].flatMap(([id, { record }]) => (accepts(record) ? id : []));
  }

  /** Returns the record to retry now, or null. */
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

  forget(id: string): void {
    this.#refused.delete(id);
  }

  /** Call this when a retry found no work, because the record changed or another process holds its lock. */
  noteIdle(id: string): void {
    const before = this.#refused.get(id);
    if (before === undefined) return;
    const idleRetries = before.idleRetries + 1;
    if (idleRetries >= MAX_IDLE_RETRIES) this.forget(id);
    else this.#wait({ ...before, idleRetries });
  }

  /** Moves the record to the end, behind the others. */
  #wait(refusal: Omit<Refusal<Item>, 'notBefore'>): void {
    const { id } = refusal.record;
    this.#refused.delete(id);
    this.#refused.set(id, { ...refusal, notBefore: this.#now() + refusal.waitMs });
  }
}
