import type { AgentResult } from '@tocsin/contracts/agents/protocol';

/** Far below the limits of the protocol, so that a frame does not delay pings over a slow link. */
const MAX_FRAME_BYTES = 64 * 1024;
const MAX_AGE_MS = 3_600_000;
/** More repeated results wait for confirmations, because a gateway keeps them in memory while PostgreSQL is unavailable. */
const MAX_UNCONFIRMED = 500;
/** Gateways close the connection because of a result that they do not understand, which must not prevent all others forever. */
const MAX_REFUSALS = 3;
const FRAME = ['{"type":"results","results":[', ']}'] as const;

interface Entry {
  readonly result: Omit<AgentResult, 'ageMs'>;
  /** By `performance.now()`. */
  readonly endedAt: number;
  refusals: number;
}

/** Results for gateways. Results with a ticket are kept, and sent on each new connection, until a gateway confirms them. */
export class Results {
  readonly #kept = new Map<string, Entry>();
  #unsent: Entry[] = [];
  /** Results of earlier connections that must be sent again. */
  #repeated: Entry[] = [];
  /** Ids of results that were sent again on this connection. */
  readonly #unconfirmed = new Set<string>();

  get kept(): number {
    return this.#kept.size;
  }

  /** @param endedAt when its probe ended, by `performance.now()` */
  add(result: Entry['result'], endedAt: number): void {
    const entry = { result, endedAt, refusals: 0 };
    if (result.ticket !== null) this.#kept.set(result.id, entry);
    this.#unsent.push(entry);
  }

  /** Call when a gateway has recorded these results or does not need them. */
  remove(ids: readonly string[]): void {
    for (const id of ids) {
      this.#kept.delete(id);
      this.#unconfirmed.delete(id);
    }
  }

  /** Prepares to send all kept results on a new connection. */
  resend(): void {
    this.#unsent = [];
    this.#repeated = [...this.#kept.values()];
    this.#unconfirmed.clear();
  }

  /** Call when a gateway closed the connection because of a message. @returns the number of results dropped after several attempts */
  refuse(): number {
    const before = this.#kept.size;
    for (const [id, entry] of this.#kept) {
      entry.refusals += 1;
      if (entry.refusals === MAX_REFUSALS) this.#kept.delete(id);
    }
    return before - this.#kept.size;
  }

  /** Returns the next message for the gateway, or null. */
  takeFrame(now: number = performance.now()): string | null {
    const isRepeated = this.#unsent.length === 0;
    const entries = isRepeated ? this.#repeated : this.#unsent;
    const max = isRepeated ? MAX_UNCONFIRMED - this.#unconfirmed.size : Infinity;
    const texts: string[] = [];
    let bytes = Buffer.byteLength(FRAME.join(''));
    for (const { result, endedAt } of entries) {
      if (texts.length === max) break;
      const ageMs = Math.min(MAX_AGE_MS, Math.max(0, Math.round(now - endedAt)));
      const text = JSON.stringify({ ...result, ageMs });
      bytes += Buffer.byteLength(text) + 1;
      if (texts.length > 0 && bytes > MAX_FRAME_BYTES) break;
      texts.push(text);
    }
    for (const { result } of entries.splice(0, texts.length))
      if (isRepeated) this.#unconfirmed.add(result.id);
    return texts.length === 0 ? null : FRAME.join(texts.join(','));
  }
}
