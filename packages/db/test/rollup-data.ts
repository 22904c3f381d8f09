import { randomUUID } from 'node:crypto';
import { slotOffsetMs } from '@tocsin/core/schedule/slots';
import { latencyBucket } from '@tocsin/core/testing/latency-bucket';
import { checkRollups, checkRollupState } from '@tocsin/db/check-rollups/table';
import { columnNames, tableOf } from '@tocsin/db/database/sql';
import { scheduleSpans } from '@tocsin/db/monitor-regions/table';
import { asc, eq, lt, sql } from 'drizzle-orm';
import { makeMonitor, type TestContext } from './harness.ts';

export const HOUR_MS = 3_600_000;
const MINUTE_MS = 60_000;

type Rollup = typeof checkRollups.$inferSelect;
export type Span = typeof scheduleSpans.$inferInsert & { startsAt: Date };

/** Fields of an event that rollups use. Times are epoch milliseconds. */
export interface RawEvent {
  readonly monitorId: string;
  readonly region: string;
  readonly timestamp: number;
  readonly slot: number | null;
  readonly source: 'schedule' | 'trigger';
  readonly url: string | null;
  readonly status: 'UP' | 'DOWN';
  readonly inconclusive: boolean;
  readonly statusCode: number | null;
  readonly latencyMs: number;
  readonly phases: readonly (number | null)[];
}

const RESPONDED = { statusCode: 200, latencyMs: 12, phases: [1, 2, 3, 4, 2] } as const;

/** Makes a passing check of a slot, exactly on time. The given fields replace its own. */
export function eventAt(monitorId: string, slot: number, fields: Partial<RawEvent> = {}): RawEvent {
  const known = {
    monitorId,
    region: 'default',
    slot,
    timestamp: slot,
    source: 'schedule',
    url: null,
  } as const;
  return { ...known, status: 'UP', inconclusive: false, ...RESPONDED, ...fields };
}

export async function insertEvents(context: TestContext, events: readonly RawEvent[]): Promise<void> {
  const phase = (index: number) => ['int', ({ phases }: RawEvent) => phases[index] ?? null] as const;
  const columns = {
    monitor_id: ['uuid', ({ monitorId }: RawEvent) => monitorId],
    timestamp: ['timestamptz', ({ timestamp }: RawEvent) => timestamp],
    id: ['uuid', () => randomUUID()],
    status: ['text', ({ status }: RawEvent) => status],
    inconclusive: ['bool', ({ inconclusive }: RawEvent) => inconclusive],
    latency_ms: ['int', ({ latencyMs }: RawEvent) => latencyMs],
    status_code: ['int', ({ statusCode }: RawEvent) => statusCode],
    region: ['text', ({ region }: RawEvent) => region],
    source: ['text', ({ source }: RawEvent) => source],
    slot: ['timestamptz', ({ slot }: RawEvent) => slot],
    url: ['text', ({ url }: RawEvent) => url],
    dns_ms: phase(0),
    tcp_ms: phase(1),
    tls_ms: phase(2),
    first_byte_ms: phase(3),
    download_ms: phase(4),
  } as const;
  await context.db.execute(sql`
    insert into events (${columnNames(columns)}) select * from ${tableOf('u', events, columns)}`);
}

/** Lists the slots of a span from `from` (inclusive) to `to` (exclusive). */
export function slotsOf(span: Span, from: number, to: number): number[] {
  const every = span.intervalSeconds * 1_000;
  const lowest = Math.max(from, span.startsAt.getTime());
  const end = Math.min(to, span.endsAt?.getTime() ?? Infinity);
  const slots: number[] = [];
  for (let slot = Math.floor(from / every - 1) * every + span.offsetMs; slot < end; slot += every) {
    if (slot >= lowest) slots.push(slot);
  }
  return slots;
}

/** Returns the expected rollup of an hour, counted one event and one slot at a time, or null without one. */
export function expectedRollup(
  span: { monitorId: string; region: string },
  hour: number,
  allSpans: readonly Span[],
  allEvents: readonly RawEvent[],
): Rollup | null {
  const isOwn = (other: { monitorId: string; region: string }): boolean =>
    other.monitorId === span.monitorId && other.region === span.region;
  const own = allEvents.filter(isOwn);
  const recorded = own.filter(
    ({ timestamp, url }) => url === null && timestamp >= hour && timestamp < hour + HOUR_MS,
  );
  const counted = recorded.filter(({ inconclusive }) => !inconclusive);
  const slots = allSpans.filter(isOwn).flatMap((other) => slotsOf(other, hour, hour + HOUR_MS));
  const happened = (slot: number): boolean =>
    own.some(
      (event) =>
        event.source === 'schedule' && event.slot === slot && event.timestamp <= slot + 15 * MINUTE_MS,
    );
  const gaps = slots.filter((slot) => !happened(slot)).length;
  if (recorded.length + gaps === 0) return null;
  const responded = counted.filter(({ statusCode }) => statusCode !== null);
  const buckets = responded.map(({ latencyMs }) => latencyBucket(latencyMs));
  const present = [...new Set(buckets)].toSorted((one, other) => one - other);
  const sum = (phase: number): number =>
    responded.reduce((total, { phases }) => total + (phases[phase] ?? 0), 0);
  return {
    monitorId: span.monitorId,
    region: span.region,
    hour: new Date(hour),
    checks: counted.length,
    failures: counted.filter(({ status }) => status === 'DOWN').length,
    inconclusive: recorded.length - counted.length,
    gaps,
    latencyBuckets: present,
    latencyCounts: present.map((bucket) => buckets.filter((other) => other === bucket).length),
    timedChecks: responded.length,
    dnsSumMs: sum(0),
    tcpSumMs: sum(1),
    tlsSumMs: sum(2),
    firstByteSumMs: sum(3),
    downloadSumMs: sum(4),
  };
}

/** Reads the rollups of the hours before `end`, by monitor, region and hour. */
export function rollupsBefore(context: TestContext, end: number): Promise<Rollup[]> {
  return context.db
    .select()
    .from(checkRollups)
    .where(lt(checkRollups.hour, new Date(end)))
    .orderBy(asc(checkRollups.monitorId), asc(checkRollups.region), asc(checkRollups.hour));
}

/** Makes the given hour the first that is not rolled up. */
export async function setWatermark(context: TestContext, hour: number): Promise<void> {
  const rolledUntil = new Date(hour);
  await context.db
    .insert(checkRollupState)
    .values({ rolledUntil })
    .onConflictDoUpdate({ target: checkRollupState.singleton, set: { rolledUntil } });
}

/** Creates a monitor with the given spans instead of the default ones. */
export async function monitorWithSpans(
  context: TestContext,
  plan: readonly { region: string; interval: number; from: number; to: number | null }[],
): Promise<Span[]> {
  const { id: monitorId } = await makeMonitor(context);
  await context.db.delete(scheduleSpans).where(eq(scheduleSpans.monitorId, monitorId));
  const spans = plan.map(({ region, interval, from, to }) => ({
    monitorId,
    region,
    startsAt: new Date(from),
    endsAt: to === null ? null : new Date(to),
    intervalSeconds: interval,
    offsetMs: slotOffsetMs(monitorId, interval * 1_000),
  }));
  await context.db.insert(scheduleSpans).values(spans);
  return spans;
}

/** Makes a seeded generator of random numbers in [0, 1). */
export function seeded(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}

/** Makes random events around the planned slots. They may be late, early, missing, repeated, triggered or off the grid, with any outcome. */
export function randomEvents(
  spans: readonly Span[],
  from: number,
  to: number,
  random: () => number,
): RawEvent[] {
  const taken = new Set<string>();
  const events: RawEvent[] = [];
  const pick = (most: number): number => Math.floor(random() * most);
  const phase = (): number | null => (random() < 0.3 ? null : pick(300));
  const add = (span: Span, time: number, fields: Partial<RawEvent>): void => {
    let timestamp = time;
    while (taken.has(`${span.monitorId} ${timestamp}`)) timestamp += 1;
    taken.add(`${span.monitorId} ${timestamp}`);
    const responded = random() < 0.9;
    const outcome = responded
      ? {
          statusCode: 200,
          latencyMs: 1 + pick(30 ** (1 + pick(3))),
          phases: [phase(), phase(), phase(), pick(500), phase()],
        }
      : { statusCode: null, latencyMs: pick(2) * 10_000, phases: [phase(), phase(), null, null, null] };
    const status = responded && random() < 0.8 ? 'UP' : 'DOWN';
    // Some checks got a part of a response before the network was lost.
    const inconclusive = status === 'DOWN' && random() < 0.3;
    const { monitorId, region } = span;
    const event = {
      ...eventAt(monitorId, time),
      region,
      ...outcome,
      status,
      inconclusive,
      timestamp,
    } as const;
    events.push({ ...event, ...fields });
  };
  for (const span of spans) {
    // Slots may be beyond the span, because jobs of a schedule that has just been replaced still run.
    for (const slot of slotsOf({ ...span, startsAt: new Date(0), endsAt: null }, from, to)) {
      const inside = slot >= span.startsAt.getTime() && slot < (span.endsAt?.getTime() ?? Infinity);
      if (random() < (inside ? 0.15 : 0.95)) continue;
      const delay = random() < 0.1 ? pick(25 * MINUTE_MS) : pick(3_000) - 500;
      add(span, slot + delay, { slot });
      if (random() < 0.05) add(span, slot + delay + 10, { slot });
      if (random() < 0.05) add(span, slot + pick(9_999), { slot: slot + 1 + pick(4_000) });
      if (random() < 0.05) add(span, slot + pick(9_999), { source: 'trigger', slot: null });
      if (random() < 0.05) {
        add(span, slot + pick(9_999), {
          source: 'trigger',
          slot: null,
          url: `https://${randomUUID()}.example`,
        });
      }
    }
  }
  return events;
}
