import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { systemActor } from '@tocsin/db/audit-log/actor';
import { readRollupState, rollUpNextHour } from '@tocsin/db/check-rollups/roll-up';
import { purgeDeletedMonitors } from '@tocsin/db/deleted-monitors/purge';
import { deleteMonitor } from '@tocsin/db/monitors/delete-monitors';
import { sql } from 'drizzle-orm';
import { openTestContext, readClock, type TestContext } from './harness.ts';
import {
  eventAt,
  expectedRollup,
  HOUR_MS,
  insertEvents,
  monitorWithSpans,
  randomEvents,
  type RawEvent,
  rollupsBefore,
  seeded,
  setWatermark,
  slotsOf,
  type Span,
} from './rollup-data.ts';

let context: TestContext;
/** Three hours from here are settled for sure; whether the fourth is depends on the minute. */
let start: number;
let end: number;
beforeAll(async () => {
  context = await openTestContext();
});
afterAll(() => context.close());
beforeEach(async () => {
  start = Math.floor(Date.now() / HOUR_MS) * HOUR_MS - 4 * HOUR_MS;
  end = start + 3 * HOUR_MS;
  await context.db.execute(sql`delete from monitors`);
  await context.db.execute(sql`delete from events`);
  await context.db.execute(sql`delete from check_rollups`);
  await setWatermark(context, start);
});

async function rollUpAll(monitorsAtOnce?: number): Promise<void> {
  for (;;) if ((await rollUpNextHour(context.db, { monitorsAtOnce })) === null) return;
}

/** Spans as edits leave them: another interval in mid-hour, an end right on a slot, a region removed and added again. */
async function variousSpans(): Promise<Span[]> {
  const minutes = (count: number, ms = 0): number => start + count * 60_000 + ms;
  const before = start - 30 * HOUR_MS;
  const [edge] = await monitorWithSpans(context, [{ region: 'a', interval: 60, from: before, to: null }]);
  const onSlot = edge ? (slotsOf(edge, minutes(40), end)[0] ?? 0) : 0;
  await context.db.execute(sql`
    update schedule_spans set ends_at = ${new Date(onSlot).toISOString()} where monitor_id = ${edge?.monitorId ?? ''}`);
  const spans = await Promise.all([
    monitorWithSpans(context, [
      { region: 'a', interval: 60, from: before, to: minutes(80, 17_123) },
      { region: 'a', interval: 7, from: minutes(80, 17_123), to: null },
      { region: 'b', interval: 60, from: before, to: minutes(30, 1) },
      { region: 'b', interval: 60, from: minutes(105), to: minutes(180) },
    ]),
    monitorWithSpans(context, [{ region: 'a', interval: 3_600, from: before, to: null }]),
    monitorWithSpans(context, [{ region: 'default', interval: 86_400, from: before, to: null }]),
    monitorWithSpans(context, [{ region: 'a', interval: 25, from: minutes(61), to: minutes(61, 3) }]),
  ]);
  return [...(edge ? [{ ...edge, endsAt: new Date(onSlot) }] : []), ...spans.flat()];
}

function expectedRollups(spans: readonly Span[], events: readonly RawEvent[]): unknown[] {
  const kinds = new Map(spans.map((span) => [`${span.monitorId} ${span.region}`, span]));
  return [...kinds]
    .toSorted(([one], [other]) => (one < other ? -1 : 1))
    .flatMap(([, kind]) =>
      [0, 1, 2].map((hour) => expectedRollup(kind, start + hour * HOUR_MS, spans, events)),
    )
    .filter((rollup) => rollup !== null);
}

describe('rolling up', () => {
  test.each([1, 2, 3, 4, 5, 6])('matches the raw events, seed %d', async (seed) => {
    const spans = await variousSpans();
    const events = randomEvents(spans, start - HOUR_MS, end + HOUR_MS, seeded(seed));
    await insertEvents(context, events);
    await rollUpAll(seed % 2 === 0 ? 2 : undefined);
    const rollups = await rollupsBefore(context, end);
    expect(rollups).toEqual(expectedRollups(spans, events));
    // Those of the spans that have a slot in each hour, whatever their phases.
    expect(rollups.length).toBeGreaterThanOrEqual(7);
    expect(Math.min(...rollups.map(({ gaps }) => gaps))).toBeGreaterThanOrEqual(0);
  });

  test("does not depend on the session's time zone", async () => {
    const spans = await variousSpans();
    const events = randomEvents(spans, start, end, seeded(7));
    await insertEvents(context, events);
    await context.db.transaction(async (tx) => {
      await tx.execute(sql`set local time zone 'Asia/Kathmandu'`);
      for (;;) if ((await rollUpNextHour(tx)) === null) break;
    });
    expect(await rollupsBefore(context, end)).toEqual(expectedRollups(spans, events));
  });

  test('rolls an hour up 16 minutes after its end', async () => {
    /** Whether an hour, the first that is not rolled up, is left alone; it may become due at that moment. */
    const isLeftAlone = async (hour: number): Promise<boolean> => {
      const due = hour + HOUR_MS + 16 * 60_000;
      const before = await readClock(context);
      const rolled = await rollUpNextHour(context.db);
      if (rolled === null) expect(before).toBeLessThan(due);
      else expect([rolled.hour.getTime(), (await readClock(context)) >= due]).toEqual([hour, true]);
      return rolled === null;
    };
    const hour = Math.floor(Date.now() / HOUR_MS) * HOUR_MS;
    await setWatermark(context, hour);
    expect(await isLeftAlone(hour)).toBe(true);
    const recent = Math.floor((Date.now() - 16 * 60_000) / HOUR_MS) * HOUR_MS - HOUR_MS;
    await setWatermark(context, recent);
    expect(await isLeftAlone(recent)).toBe(false);
    await isLeftAlone(recent + HOUR_MS);
  });

  test('returns the gaps of the last hour by region, and stores them with the watermark', async () => {
    await monitorWithSpans(context, [
      { region: 'a', interval: 60, from: start, to: start + HOUR_MS },
      { region: 'b', interval: 600, from: start, to: start + HOUR_MS },
    ]);
    await monitorWithSpans(context, [{ region: 'b', interval: 60, from: start, to: start + HOUR_MS }]);
    expect(await rollUpNextHour(context.db, { monitorsAtOnce: 1 })).toEqual({
      hour: new Date(start),
      gaps: { a: 60, b: 66 },
    });
    expect(await readRollupState(context.db)).toMatchObject({
      rolledUntil: new Date(start + HOUR_MS),
      lastGaps: { a: 60, b: 66 },
    });
    expect((await rollUpNextHour(context.db))?.gaps).toEqual({});
  });

  test('a check more than 15 minutes late is a gap', async () => {
    const [span] = await monitorWithSpans(context, [
      { region: 'default', interval: 1_800, from: start, to: start + HOUR_MS },
    ]);
    const id = span?.monitorId ?? '';
    const [first = 0, second = 0] = span ? slotsOf(span, start, end) : [];
    await insertEvents(context, [
      eventAt(id, first, { timestamp: first + 900_000 }),
      eventAt(id, second, { timestamp: second + 900_001 }),
    ]);
    await rollUpAll();
    const rollups = await rollupsBefore(context, end);
    expect(rollups.reduce((sum, { checks }) => sum + checks, 0)).toBe(2);
    expect(rollups.reduce((sum, { gaps }) => sum + gaps, 0)).toBe(1);
  });

  test('changes nothing when it is repeated after a reset of the watermark', async () => {
    const spans = await variousSpans();
    await insertEvents(context, randomEvents(spans, start, end, seeded(8)));
    await rollUpAll();
    const before = await rollupsBefore(context, end);
    await setWatermark(context, start);
    await rollUpAll();
    expect(await rollupsBefore(context, end)).toEqual(before);
  });

  test('begins with the hour of the first monitor, and processes a backlog hour by hour', async () => {
    await context.db.execute(sql`delete from check_rollup_state`);
    const oldest = Math.floor(Date.now() / HOUR_MS - 20) * HOUR_MS;
    const at = oldest + 5;
    const [span] = await monitorWithSpans(context, [{ region: 'default', interval: 60, from: at, to: at }]);
    await insertEvents(context, [eventAt(span?.monitorId ?? '', at)]);
    const countDue = (): number => Math.floor((Date.now() - oldest - 16 * 60_000) / HOUR_MS);
    const dueAtFirst = countDue();
    let hours = 0;
    for (let rolled = await rollUpNextHour(context.db); rolled; rolled = await rollUpNextHour(context.db)) {
      expect(rolled.hour).toEqual(new Date(oldest + hours * HOUR_MS));
      hours += 1;
    }
    // One more may become due meanwhile.
    expect([dueAtFirst, countDue()]).toContain(hours);
    expect(await rollupsBefore(context, end)).toMatchObject([{ hour: new Date(oldest), checks: 1 }]);
  });

  test('makes no pauses if it is late', async () => {
    await monitorWithSpans(context, [{ region: 'a', interval: 60, from: start, to: end }]);
    // Any pause would last for hours.
    expect(await rollUpNextHour(context.db, { share: 1e-9 })).toMatchObject({ gaps: { a: 60 } });
  });

  test('the rollups of a deleted monitor are deleted', async () => {
    const [gone, kept] = await Promise.all(
      [1, 2].map(() => monitorWithSpans(context, [{ region: 'a', interval: 60, from: start, to: null }])),
    );
    await rollUpAll();
    await deleteMonitor(context.db, systemActor(context.accountId), gone?.[0]?.monitorId ?? '');
    await purgeDeletedMonitors(context.db);
    const left = await rollupsBefore(context, end);
    expect(left).toHaveLength(3);
    expect(new Set(left.map(({ monitorId }) => monitorId))).toEqual(new Set([kept?.[0]?.monitorId]));
  });
});
