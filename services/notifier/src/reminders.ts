import { BEFORE_ALL, remind, type RemindOptions } from '@tocsin/db/deliveries/remind';
import type { Database } from '@tocsin/db/database/open';
import type { Logger } from '@tocsin/runtime/logger';
import { createLoop, type Loop } from '@tocsin/runtime/loop';

const EVERY_MS = 10_000;

export interface RemindersOptions extends Pick<RemindOptions, 'publicUrl'> {
  readonly db: Database;
  readonly logger: Logger;
  /** Called after reminders were made. */
  readonly onDue: () => void;
}

/** Makes all reminders that are due, in bounded transactions. Every notifier runs this. */
export function startReminders({ db, publicUrl, logger, onDue }: RemindersOptions): Loop {
  const onRefused: RemindOptions['onRefused'] = ({ id: monitorId, error }) => {
    logger.error('PostgreSQL refuses the reminders of a monitor. Trying again.', {
      monitorId,
      error,
    });
  };
  const work = async (signal: AbortSignal): Promise<void> => {
    for (let after = BEFORE_ALL; ;) {
      const { count, next } = await remind(db, { after, publicUrl, onRefused });
      if (count > 0) onDue();
      if (next === null || signal.aborted) return;
      after = next;
    }
  };
  return createLoop({ name: 'Reminding of monitors that stay DOWN', everyMs: EVERY_MS, logger, work });
}
