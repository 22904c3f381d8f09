/** For the bodies of all probes of a process. The container has 1 GiB. */
const MAX_BUFFERED_BYTES = 256 * 1024 * 1024;

/** A limit of this process ended the probe, so it has no result. */
export class ProbeThrottledError extends Error {
  override readonly name = 'ProbeThrottledError';
}

/** Limits the memory of bodies that are being read. An account may use as many bytes as it leaves free, so that others find some. */
export class BodyBudget {
  readonly #maxBytes: number;
  readonly #usedBy = new Map<string, number>();
  #used = 0;

  constructor(maxBytes: number = MAX_BUFFERED_BYTES) {
    this.#maxBytes = maxBytes;
  }

  get used(): number {
    return this.#used;
  }

  /** Opens a lease for one probe's body, of no bytes yet. */
  open(account: string): BodyLease {
    let leased = 0;
    const lease = {
      isRefused: false,
      resize: (bytes: number): boolean => {
        lease.isRefused ||= !this.#add(account, bytes - leased);
        if (!lease.isRefused) leased = bytes;
        return !lease.isRefused;
      },
      release: (): void => {
        this.#add(account, -leased);
        leased = 0;
      },
    };
    return lease;
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
export interface BodyLease {
  /** Whether memory was refused once: the body is incomplete. */
  readonly isRefused: boolean;
  /** Changes the lease to this many bytes in all. @returns false if there is no room for them */
  resize(bytes: number): boolean;
  release(): void;
}
