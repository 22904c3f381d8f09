import { KEY_PREFIX, storedName } from '@tocsin/queue/queue-store';
import type { Redis } from 'ioredis';
import type { SteadyRecord } from '../oracle/record.ts';

/**
 * Makes Redis keep the event streams of the queues. BullMQ trims them approximately, by whole nodes, and never trims a stream of one
 * node without a limit. Call this before the queues are used.
 */
export async function keepEvents(redis: Redis): Promise<void> {
  await redis.config('SET', 'stream-node-max-entries', '0', 'stream-node-max-bytes', '0');
}

/** Reads the event streams of all queues. @returns stalled jobs, queues in use without an event, and the number of trimmed events */
export async function readStalls(redis: Redis, region: string): Promise<NonNullable<SteadyRecord['stalls']>> {
  const busy = [storedName('check', region), storedName('trigger', region), storedName('statusChange', null)];
  const tally = { stalled: [] as string[], silent: [] as string[], unseen: 0 };
  // The queue of deliveries has only test webhooks and redeliveries.
  for (const queue of [...busy, storedName('delivery', null)]) {
    const key = `${KEY_PREFIX}:${queue}:events`;
    const info = (await redis.exists(key)) === 0 ? [] : ((await redis.xinfo('STREAM', key)) as unknown[]);
    const added = Number(info[info.indexOf('entries-added') + 1] ?? 0);
    const entries = await redis.xrange(key, '-', '+');
    tally.unseen += Math.max(0, added - entries.length);
    if (entries.length === 0 && busy.includes(queue)) tally.silent.push(key);
    for (const [, fields] of entries) {
      if (fields.includes('stalled')) tally.stalled.push(`${key} ${fields[fields.indexOf('jobId') + 1]}`);
    }
  }
  return tally;
}
