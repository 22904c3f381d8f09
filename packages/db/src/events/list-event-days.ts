import { listPartitions } from '../database/partitions.ts';
import type { Queryable } from '../database/open.ts';

const DAY_MS = 86_400_000;

/** A day partition of the events; times are epoch milliseconds. */
export interface EventDay {
  readonly name: string;
  readonly startsAt: number;
  readonly endsAt: number;
}

/** The days whose events are kept, oldest first. */
export async function listEventDays(db: Queryable): Promise<EventDay[]> {
  const names = [...(await listPartitions(db, 'events'))].filter((name) =>
    /^events_\d{4}_\d{2}_\d{2}$/.test(name),
  );
  return names.toSorted().map((name) => {
    const startsAt = Date.parse(name.slice('events_'.length).replaceAll('_', '-'));
    return { name, startsAt, endsAt: startsAt + DAY_MS };
  });
}
