import { KEY_PREFIX, storedName } from '@tocsin/queue/queue-store';
import type { Redis } from 'ioredis';

const QUEUES = [
  storedName('check', 'default'),
  storedName('trigger', 'default'),
  storedName('statusChange', null),
  storedName('delivery', null),
];
const BLOCK_MS = 200;
const READ_LIMIT = 1_000;

/** What BullMQ's event streams of the queues contained. */
export interface StallTally {
  /** Stalled jobs, as `queue job`. */
  readonly stalled: readonly string[];
  /** Events that were read. */
  readonly seen: number;
  /** Events that were trimmed before they were read, and may have been stalls. */
  readonly unseen: number;
  /** Queues without an event: these were not watched. */
  readonly silent: readonly string[];
}

/**
 * BullMQ trims its streams approximately, by whole nodes. With larger nodes it keeps the events that a watch has still to read after a
 * pause of some seconds.
 */
export async function keepMoreEvents(redis: Redis): Promise<void> {
  await redis.config('SET', 'stream-node-max-entries', '10000', 'stream-node-max-bytes', '0');
}

/**
 * Watches all queues for stalled jobs, from outside. The streams are short (the last hundred events), so the number of added events is
 * compared with the number read.
 */
export class StallWatch {
  readonly #redis: Redis;
  /** By stream: the last entry read, the entries read, and the entries added before the start. */
  readonly #streams = new Map<string, { last: string; seen: number; before: number }>();
  readonly #stalled: string[] = [];
  #running: Promise<void> = Promise.resolve();
  #stopped = false;

  private constructor(redis: Redis) {
    this.#redis = redis;
  }

  /** @param redis its connection is duplicated */
  static async start(redis: Redis): Promise<StallWatch> {
    const watch = new StallWatch(redis.duplicate());
    for (const queue of QUEUES) {
      const key = `${KEY_PREFIX}:${queue}:events`;
      const { added, last } = await readInfo(watch.#redis, key);
      watch.#streams.set(key, { last, seen: 0, before: added });
    }
    watch.#running = watch.#follow();
    return watch;
  }

  /** Reads the rest. */
  async stop(): Promise<StallTally> {
    this.#stopped = true;
    await this.#running;
    // The queues are still in use: the counts must be from before the last read.
    const added = new Map<string, number>();
    for (const key of this.#streams.keys()) added.set(key, (await readInfo(this.#redis, key)).added);
    while (await this.#readOnce(null));
    let seen = 0;
    let unseen = 0;
    for (const [key, stream] of this.#streams) {
      seen += stream.seen;
      unseen += Math.max(0, (added.get(key) ?? 0) - stream.before - stream.seen);
    }
    this.#redis.disconnect();
    const silent = [...this.#streams].filter(([, stream]) => stream.seen === 0).map(([key]) => key);
    return { stalled: this.#stalled, seen, unseen, silent };
  }

  /** Ends it without a result. */
  abandon(): void {
    this.#stopped = true;
    this.#redis.disconnect();
  }

  async #follow(): Promise<void> {
    try {
      while (!this.#stopped) await this.#readOnce(BLOCK_MS);
    } catch (error) {
      if (!this.#stopped) throw error;
    }
  }

  /** @returns whether there were new entries */
  async #readOnce(blockMs: number | null): Promise<boolean> {
    const streams = [...this.#streams.keys(), ...[...this.#streams.values()].map(({ last }) => last)];
    const streamed = await (blockMs === null
      ? this.#redis.xread('COUNT', READ_LIMIT, 'STREAMS', ...streams)
      : this.#redis.xread('COUNT', READ_LIMIT, 'BLOCK', blockMs, 'STREAMS', ...streams));
    for (const [key, entries] of streamed ?? []) this.#take(key, entries);
    return streamed !== null;
  }

  #take(key: string, entries: readonly [string, string[]][]): void {
    const stream = this.#streams.get(key);
    if (stream === undefined) throw new TypeError(`unexpected stream ${key}`);
    stream.seen += entries.length;
    stream.last = entries.at(-1)?.[0] ?? stream.last;
    for (const [, fields] of entries) {
      if (valueOf(fields, 'event') === 'stalled')
        this.#stalled.push(`${key} ${String(valueOf(fields, 'jobId'))}`);
    }
  }
}

/** How many entries were ever added to a stream, and the last one's id. */
async function readInfo(redis: Redis, key: string): Promise<{ added: number; last: string }> {
  if ((await redis.exists(key)) === 0) return { added: 0, last: '0-0' };
  const info = (await redis.call('XINFO', 'STREAM', key)) as (string | number)[];
  return {
    added: Number(valueOf(info, 'entries-added')),
    last: String(valueOf(info, 'last-generated-id')),
  };
}

function valueOf(pairs: readonly unknown[], name: string): unknown {
  const index = pairs.indexOf(name);
  return index < 0 ? undefined : pairs[index + 1];
}
