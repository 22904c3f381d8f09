/** Maximum time between two connected proofs. It is longer than the time between two rounds of canaries. */
export const MAX_PAUSE_MS = 3_000;

/** Evidence of canaries about the network for one kind of failure. Times are `performance.now()`. */
export class Evidence {
  #provenAt = -Infinity;
  /** First proof in the series of proofs without a long pause that leads to the last one. */
  #provenSince = -Infinity;
  #isolatedSince: number | null = null;
  #connectedSince = -Infinity;

  get provenAt(): number {
    return this.#provenAt;
  }

  get isIsolated(): boolean {
    return this.#isolatedSince !== null;
  }

  wasIsolated(since: number): boolean {
    return this.isIsolated || this.#connectedSince > since;
  }

  /** Reports whether canaries have responded without a long pause from this moment to the last proof. */
  wasProvenSince(moment: number): boolean {
    return this.#provenSince <= moment;
  }

  prove(at: number): void {
    // This canary responded before the others failed.
    if (this.#isolatedSince !== null && at <= this.#isolatedSince) return;
    if (this.#isolatedSince !== null) this.end(at);
    if (at > this.#provenAt + MAX_PAUSE_MS) this.#provenSince = at;
    this.#provenAt = Math.max(this.#provenAt, at);
  }

  isolate(since: number): void {
    this.#isolatedSince ??= since;
  }

  end(at = performance.now()): void {
    if (this.#isolatedSince === null) return;
    this.#isolatedSince = null;
    this.#connectedSince = at;
  }
}
