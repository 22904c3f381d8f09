import type { SQL } from 'drizzle-orm';
import { isRefusal } from '../database/errors.ts';
import type { Database } from '../database/open.ts';
import { queryColumn } from '../database/sql.ts';

const PAGE_SIZE = 500;
const MAX_ERRORS = 10;
const BEFORE_ALL = '00000000-0000-0000-0000-000000000000';

/**
 * Does some work for each channel that meets a condition. A channel that PostgreSQL refuses does not stop the others.
 * @throws AggregateError of the refused channels after all others. Any other error is thrown at once, because it would fail for every channel
 */
export async function forEachChannel(
  db: Database,
  condition: SQL,
  work: (channelId: string) => Promise<void>,
  signal?: AbortSignal,
): Promise<void> {
  const errors: unknown[] = [];
  let refused = 0;
  let last: string | undefined = BEFORE_ALL;
  while (last !== undefined) {
    const ids: string[] = await queryColumn(db)`
      select id from channels where id > ${last} and ${condition} order by id limit ${PAGE_SIZE}`;
    for (const id of ids) {
      if (signal?.aborted === true) break;
      try {
        await work(id);
      } catch (error) {
        if (!isRefusal(error)) throw error;
        refused += 1;
        if (errors.length < MAX_ERRORS) errors.push(error);
      }
    }
    last = signal?.aborted === true ? undefined : ids.at(-1);
  }
  if (refused === 0) return;
  const channels = refused === 1 ? 'a channel' : `${refused} channels`;
  throw new AggregateError(errors, `PostgreSQL rejected changes to ${channels}`);
}
