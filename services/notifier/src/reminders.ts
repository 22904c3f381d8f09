import { remind, type RemindOptions } from '@tocsin/db/deliveries/remind';
import type { Database } from '@tocsin/db/database/open';
import type { Logger } from '@tocsin/runtime/logger';
import { createLoop, type Loop } from '@tocsin/runtime/loop';

const EVERY_MS = 10_000;

export interface RemindersOptions extends Pick<RemindOptions, 'publicUrl' | 'onDue'> {
  readonly db: Database;
  readonly logger: Logger;
}

/** Makes all reminders that are due. Every notifier runs this. */
export function startReminders({ db, publicUrl, logger, onDue }: RemindersOptions): Loop {
  const onRefused: RemindOptions['onRefused'] = ({ id: monitorId, error }) => {
    logger.error('PostgreSQL refuses the reminders of a monitor. Trying again.', {
      monitorId,
      error,
    });
  };
  const work = (signal: AbortSignal): Promise<void> => remind(db, { publicUrl, onRefused, onDue, signal });
  return createLoop({ name: 'Reminding of monitors that stay DOWN', everyMs: EVERY_MS, logger, work });
}
