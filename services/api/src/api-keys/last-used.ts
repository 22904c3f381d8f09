import type { Logger } from '@tocsin/runtime/logger';
import { createLoop } from '@tocsin/runtime/loop';

const FLUSH_EVERY_MS = 1_000;

/** Records in the background when API keys were last used. */
export interface LastUsedRecorder {
  note(apiKeyId: string): void;
  /** Writes the rest. Never rejects. */
  stop(): Promise<void>;
}

/** @param write stores the times of many keys at once */
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
      // Later uses win.
      pending = new Map([...batch, ...pending]);
      if (!failing) logger.warn('Could not record when API keys were used. Retrying.', { error });
      failing = true;
    }
  }

  const loop = createLoop({ name: 'Recording the use of API keys', everyMs, logger, work: flush });
  return {
    note: (apiKeyId) => void pending.set(apiKeyId, new Date()),
    async stop() {
      await loop.stop();
      await flush();
    },
  };
}
