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

/** An event stream that is followed. */
interface Followed {
  readonly key: string;
  /** Entries that were added before the start. */
  readonly before: number;
  /** The id of the last entry that was read. */
  last: string;
  /** Entries that were read. */
  seen: number;
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
  readonly #streams: readonly Followed[];
  readonly #stalled: string[] = [];
  readonly #running: Promise<void>;
  #stopped = false;

  private constructor(redis: Redis, streams: readonly Followed[]) {
    this.#redis = redis;
    this.#streams = streams;
    this.#running = this.#follow();
  }

  /** @param connection is duplicated */
  static async start(connection: Redis): Promise<StallWatch> {
    const redis = connection.duplicate();
    const keys = QUEUES.map((queue) => `${KEY_PREFIX}:${queue}:events`);
    const streams = await Promise.all(
      keys.map(async (key) => {
        const { added, last } = await readInfo(redis, key);
        return { key, before: added, last, seen: 0 };
      }),
    );
    return new StallWatch(redis, streams);
  }

  /** Reads the rest. */
  async stop(): Promise<StallTally> {
    this.#stopped = true;
    await this.#running;
    // The queues are still in use: the counts must be from before the last read.
    const infos = await Promise.all(this.#streams.map(({ key }) => readInfo(this.#redis, key)));
    while (await this.#readOnce());
    this.#redis.disconnect();
    const unseen = this.#streams.map(({ before, seen }, index) => {
      return Math.max(0, (infos[index]?.added ?? 0) - before - seen);
    });
    return {
      stalled: this.#stalled,
      seen: sum(this.#streams.map(({ seen }) => seen)),
      unseen: sum(unseen),
      silent: this.#streams.filter(({ seen }) => seen === 0).map(({ key }) => key),
    };
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
  async #readOnce(blockMs?: number): Promise<boolean> {
    const positions = [...this.#streams.map(({ key }) => key), ...this.#streams.map(({ last }) => last)];
    const streamed = await (blockMs === undefined
      ? this.#redis.xread('COUNT', READ_LIMIT, 'STREAMS', ...positions)
      : this.#redis.xread('COUNT', READ_LIMIT, 'BLOCK', blockMs, 'STREAMS', ...positions));
    for (const [key, entries] of streamed ?? []) {
      const stream = this.#streams.find((one) => one.key === key);
      if (stream === undefined) throw new TypeError(`unexpected stream ${key}`);
      stream.seen += entries.length;
      stream.last = entries.at(-1)?.[0] ?? stream.last;
      const stalled = entries.filter(([, fields]) => valueOf(fields, 'event') === 'stalled');
      this.#stalled.push(...stalled.map(([, fields]) => `${key} ${String(valueOf(fields, 'jobId'))}`));
    }
    return streamed !== null;
  }
}

/** How many entries were ever added to a stream, and the last one's id. */
async function readInfo(redis: Redis, key: string): Promise<{ added: number; last: string }> {
  if ((await redis.exists(key)) === 0) return { added: 0, last: '0-0' };
  const info = (await redis.call('XINFO', 'STREAM', key)) as (string | number)[];
  const [added, last] = [valueOf(info, 'entries-added'), valueOf(info, 'last-generated-id')];
  return { added: Number(added), last: String(last) };
}

function valueOf(pairs: readonly unknown[], name: string): unknown {
  const index = pairs.indexOf(name);
  return index < 0 ? undefined : pairs[index + 1];
}

function sum(counts: readonly number[]): number {
  return counts.reduce((total, count) => total + count, 0);
}
