/** For the bodies of all probes of a process. The container has 1 GiB. */
const MAX_BUFFERED_BYTES = 256 * 1024 * 1024;

/** A limit of this process ended the probe, so it has no result. */
export class ProbeThrottledError extends Error {
  override readonly name = 'ProbeThrottledError';
}

/**
 * Limits the memory of bodies that are being read. A target can send most of a body and then hang, and thousands of targets may do so at
 * the same time. An account may use as many bytes as are left free, so that there is always some memory for the next account.
 */
export class BodyBudget {
  readonly #maxBytes: number;
  readonly #usedBy = new Map<string, number>();
  #used = 0;

  constructor(maxBytes: number = MAX_BUFFERED_BYTES) {
    this.#maxBytes = maxBytes;
  }

  /** Bytes in use. */
  get used(): number {
    return this.#used;
  }

  /** Opens a lease for one probe's body, of no bytes yet. */
  open(account: string): BodyLease {
    return new BodyLease((bytes) => this.#add(account, bytes));
  }

  /** @param bytes negative to release some @returns whether there was room for them */
  #add(account: string, bytes: number): boolean {
    const used = (this.#usedBy.get(account) ?? 0) + bytes;
    if (bytes > 0 && used > this.#maxBytes - this.#used - bytes) return false;
    this.#used += bytes;
    if (used === 0) this.#usedBy.delete(account);
    else this.#usedBy.set(account, used);
    return true;
  }
}

/** The memory of one probe's body. */
export class BodyLease {
  readonly #add: (bytes: number) => boolean;
  #bytes = 0;
  #isRefused = false;

  constructor(add: (bytes: number) => boolean) {
    this.#add = add;
  }

  /** Whether memory was refused once: the body is incomplete. */
  get isRefused(): boolean {
    return this.#isRefused;
  }

  /** Changes the lease to this many bytes in all. @returns false if there is no room for them */
  resize(bytes: number): boolean {
    this.#isRefused ||= !this.#add(bytes - this.#bytes);
    if (!this.#isRefused) this.#bytes = bytes;
    return !this.#isRefused;
  }

  release(): void {
    this.#add(-this.#bytes);
    this.#bytes = 0;
  }
}
