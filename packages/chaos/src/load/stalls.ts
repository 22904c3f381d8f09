import { KEY_PREFIX, storedName } from '@tocsin/queue/queue-store';
import type { Redis } from 'ioredis';

/** The queues that the load uses. */
const BUSY_QUEUES = [
  storedName('check', 'default'),
  storedName('trigger', 'default'),
  storedName('statusChange', null),
];
/** The queue of deliveries holds only test webhooks and redeliveries, and the load sends none. */
const QUEUES = [...BUSY_QUEUES, storedName('delivery', null)];

/** What BullMQ's event streams of the queues contained. */
export interface StallTally {
  /** Stalled jobs, as `queue job`. */
  readonly stalled: string[];
  /** Events that were read. */
  seen: number;
  /** Events that were trimmed before they were read, and may have been stalls. */
  unseen: number;
  /** Queues that the load uses, but that have no event. */
  readonly silent: string[];
}

/**
 * Makes Redis keep the event streams. BullMQ trims them approximately, by whole nodes: a stream of one node without a limit is never
 * trimmed. Call it before the queues are used.
 */
export async function keepEvents(redis: Redis): Promise<void> {
  await redis.config('SET', 'stream-node-max-entries', '0', 'stream-node-max-bytes', '0');
}

/** Looks for stalled jobs in the event streams of all queues, from outside. */
export async function readStalls(redis: Redis): Promise<StallTally> {
  const tally: StallTally = { stalled: [], seen: 0, unseen: 0, silent: [] };
  for (const queue of QUEUES) {
    const key = `${KEY_PREFIX}:${queue}:events`;
    const info = (await redis.exists(key)) === 0 ? [] : ((await redis.xinfo('STREAM', key)) as unknown[]);
    const added = Number(info[info.indexOf('entries-added') + 1] ?? 0);
    const entries = await redis.xrange(key, '-', '+');
    tally.seen += entries.length;
    tally.unseen += Math.max(0, added - entries.length);
    if (entries.length === 0 && BUSY_QUEUES.includes(queue)) tally.silent.push(key);
    for (const [, fields] of entries) {
      if (!fields.includes('stalled')) continue;
      tally.stalled.push(`${key} ${fields[fields.indexOf('jobId') + 1]}`);
    }
  }
  return tally;
}
