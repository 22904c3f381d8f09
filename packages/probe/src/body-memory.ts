import type { FairShares, Release } from '@tocsin/runtime/fair-shares';

/** Maximum concurrent bodies above `SMALL_BODY_BYTES`, which take up to 1 MiB each. The container has 1 GiB. */
export const MAX_LARGE_BODIES = 160;
/** Smaller bodies need no permit, because the number of concurrent checks already limits them. */
export const SMALL_BODY_BYTES = 16 * 1024;

export interface BodyMemory {
  /** True while a body waits for memory, so that a timeout says nothing about the target. */
  readonly isWaiting: boolean;
  /** Waits for memory for a body above `SMALL_BODY_BYTES`. */
  admit(): Promise<void>;
  release(): void;
}

/** @param onRefused ends the check because other accounts need the memory */
export function createBodyMemory(bodies: FairShares, account: string, onRefused: () => true): BodyMemory {
  let release: Release | null = null;
  let isReleased = false;
  const memory = {
    isWaiting: false,
    admit: async (): Promise<void> => {
      memory.isWaiting = true;
      release = await bodies.acquire(account, { onRevoke: onRefused });
      memory.isWaiting = false;
      if (release === null) onRefused();
      if (isReleased) release?.();
    },
    release: (): void => {
      isReleased = true;
      release?.();
    },
  };
  return memory;
}
