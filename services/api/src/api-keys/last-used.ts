import type { Logger } from '@tocsin/runtime/logger';
import { createLoop } from '@tocsin/runtime/loop';

const FLUSH_EVERY_MS = 1_000;

/** Writes behind when API keys were last used, so that no request waits for it (specification "Authentication" 8). */
export interface LastUsedRecorder {
  note(apiKeyId: string): void;
  /** Writes what is left. Never rejects. */
  stop(): Promise<void>;
}

/** @param write stores many keys' times in one statement */
export function createLastUsedRecorder(
  write: (lastUsed: ReadonlyMap<string, Date>) => Promise<void>,
  logger: Logger,
  everyMs: number = FLUSH_EVERY_MS,
): LastUsedRecorder {
  let pending = new Map<string, Date>();
  let failing = false;

  async function flush(): Promise<void> {
    if (pending.size === 0) return;
    const batch = pending;
    pending = new Map();
    try {
      await write(batch);
      failing = false;
    } catch (error) {
      // At most one time per key is held, and later uses win.
      pending = new Map([...batch, ...pending]);
      if (!failing) logger.warn('Could not note when API keys were used; trying again', { error });
      failing = true;
    }
  }

  const loop = createLoop({ name: 'Noting the use of API keys', everyMs, logger, work: flush });
  return {
    note: (apiKeyId) => void pending.set(apiKeyId, new Date()),
    async stop() {
      await loop.stop();
      await flush();
    },
  };
}
