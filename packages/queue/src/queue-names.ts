import { JOBS, type JobKind } from '@tocsin/contracts/jobs';

/** Prefix of every key in Redis. */
export const KEY_PREFIX = 'tocsin';

/**
 * The queue of a kind of job, as `checks.eu-west-1` or `deliveries`. In the store its name stands in braces: a hash tag that
 * keeps a queue's keys on one node of a Redis Cluster (design §7).
 */
export function queueName(kind: JobKind, region: string | null): string {
  const { queue, perRegion } = JOBS[kind];
  if (!perRegion) return queue;
  if (region === null) throw new TypeError(`queue ${queue} needs a region`);
  return `${queue}.${region}`;
}

/** The name under which BullMQ keeps a queue. */
export function storedName(kind: JobKind, region: string | null): string {
  return `{${queueName(kind, region)}}`;
}
