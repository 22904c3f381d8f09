/** What the bodies of all probes of a process may take. The container may use 1 GiB. */
const MAX_BUFFERED_BYTES = 256 * 1024 * 1024;

/** The probe has no result: a limit of this process ended it. That says nothing about the target. */
export class ProbeThrottledError extends Error {
  override readonly name = 'ProbeThrottledError';
}

/**
 * Limits the memory of bodies that are being read. A target can send most of a body and then hang, and thousands of them may do so at the
 * same time. An account may hold as many bytes as all accounts together leave free, so that there is always some left for the next one.
 */
export class BodyBudget {
  readonly #maxBytes: number;
  readonly #heldBy = new Map<string, number>();
  #held = 0;

  constructor(maxBytes: number = MAX_BUFFERED_BYTES) {
    this.#maxBytes = maxBytes;
  }

  /** Bytes that are held now. */
  get held(): number {
    return this.#held;
  }

  /** The memory of one probe's body; nothing is held yet. */
  open(account: string): BodyLease {
    return new BodyLease((bytes) => this.#add(account, bytes));
  }

  /** Whether there was room for these bytes; a negative number gives some back. */
  #add(account: string, bytes: number): boolean {
    const held = (this.#heldBy.get(account) ?? 0) + bytes;
    if (bytes > 0 && held > this.#maxBytes - this.#held - bytes) return false;
    this.#held += bytes;
    if (held === 0) this.#heldBy.delete(account);
    else this.#heldBy.set(account, held);
    return true;
  }
}

/** The memory of one probe's body. */
export class BodyLease {
  readonly #add: (bytes: number) => boolean;
  #held = 0;
  #isRefused = false;

  constructor(add: (bytes: number) => boolean) {
    this.#add = add;
  }

  /** Whether the body was refused memory once: it is incomplete. */
  get isRefused(): boolean {
    return this.#isRefused;
  }

  /** Holds this many bytes in all. @returns false where there is no room for them */
  hold(bytes: number): boolean {
    this.#isRefused ||= !this.#add(bytes - this.#held);
    if (!this.#isRefused) this.#held = bytes;
    return !this.#isRefused;
  }

  release(): void {
    this.#add(-this.#held);
    this.#held = 0;
  }
}
