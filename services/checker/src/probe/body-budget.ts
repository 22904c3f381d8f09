/** Limit for the bodies of all probes. The container has 1 GiB. */
const MAX_BUFFERED_BYTES = 256 * 1024 * 1024;

/** A limit of this process ended the probe, so there is no result. */
export class ProbeThrottledError extends Error {
  override readonly name = 'ProbeThrottledError';
}

/** Limits the memory of bodies in progress. An account may use at most as much as it leaves free, so that others find some. */
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

  open(account: string): BodyMemory {
    let reserved = 0;
    const memory = {
      isRefused: false,
      resize: (bytes: number): boolean => {
        memory.isRefused ||= !this.#add(account, bytes - reserved);
        if (!memory.isRefused) reserved = bytes;
        return !memory.isRefused;
      },
      release: (): void => {
        this.#add(account, -reserved);
        reserved = 0;
      },
    };
    return memory;
  }

  /** @param bytes negative to release memory @returns false if there was no room */
  #add(account: string, bytes: number): boolean {
    const used = (this.#usedBy.get(account) ?? 0) + bytes;
    if (bytes > 0 && used > this.#maxBytes - this.#used - bytes) return false;
    this.#used += bytes;
    if (used === 0) this.#usedBy.delete(account);
    else this.#usedBy.set(account, used);
    return true;
  }
}

export interface BodyMemory {
  /** True if memory was refused, so that the body is incomplete. */
  readonly isRefused: boolean;
  /** Changes the total size. @returns false if there is no room */
  resize(bytes: number): boolean;
  release(): void;
}
