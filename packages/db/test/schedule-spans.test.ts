import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { phaseMs } from '@tocsin/core/schedule/slots';
import { systemActor } from '@tocsin/db/audit-log/actor';
import { migrate } from '@tocsin/db/database/migrate';
import { alignDefaultRegion, alignSpans } from '@tocsin/db/monitor-regions/schedule-spans';
import { scheduleSpans } from '@tocsin/db/monitor-regions/table';
import { deleteMonitor } from '@tocsin/db/monitors/delete-monitors';
import { updateMonitor } from '@tocsin/db/monitors/update-monitors';
import { asc, eq, sql } from 'drizzle-orm';
import { makeMonitor, openTestContext, type TestContext } from './harness.ts';

let context: TestContext;
beforeAll(async () => {
  context = await openTestContext();
});
afterAll(() => context.close());
beforeEach(async () => {
  await context.db.execute(sql`delete from monitors`);
});

type Span = typeof scheduleSpans.$inferSelect;

function spansOf(id: string): Promise<Span[]> {
  return context.db
    .select()
    .from(scheduleSpans)
    .where(eq(scheduleSpans.monitorId, id))
    .orderBy(asc(scheduleSpans.startsAt), asc(scheduleSpans.region));
}

const update = (id: string, fields: Parameters<typeof updateMonitor>[3]): Promise<unknown> =>
  updateMonitor(context, systemActor(context.accountId), id, fields, 'default');

/** `region/interval` of each span, `…` after those that run. */
async function outline(id: string): Promise<string[]> {
  return (await spansOf(id)).map(
    ({ region, intervalSeconds, endsAt }) => `${region}/${intervalSeconds}${endsAt === null ? '…' : ''}`,
  );
}

describe('schedule spans', () => {
  test('a new monitor has one in each region, with the phase of its schedule', async () => {
    const before = Date.now();
    const { id } = await makeMonitor(context, { interval: 30, regions: ['a', 'b'] });
    const spans = await spansOf(id);
    expect(spans).toEqual(
      ['a', 'b'].map((region) => ({
        monitorId: id,
        region,
        startsAt: expect.any(Date),
        endsAt: null,
        intervalSeconds: 30,
        phaseMs: phaseMs(id, 30_000),
      })),
    );
    for (const { startsAt } of spans) expect(startsAt.getTime()).toBeGreaterThanOrEqual(before - 1_000);
    expect(await outline((await makeMonitor(context)).id)).toEqual(['default/60…']);
  });

  test('a new interval ends one and starts the next at the same millisecond', async () => {
    const { id } = await makeMonitor(context);
    await update(id, { interval: 20 });
    const [first, second, ...more] = await spansOf(id);
    expect(more).toEqual([]);
    expect([first?.intervalSeconds, second?.intervalSeconds]).toEqual([60, 20]);
    expect(second).toMatchObject({ phaseMs: phaseMs(id, 20_000), endsAt: null, startsAt: first?.endsAt });
  });

  test('spans of removed regions end, those of new regions start, and the others continue', async () => {
    const { id } = await makeMonitor(context, { regions: ['a', 'b'] });
    await update(id, { regions: ['b', 'c'] });
    expect(await outline(id)).toEqual(['a/60', 'b/60…', 'c/60…']);
    await update(id, { regions: ['a', 'b', 'c'] });
    expect(await outline(id)).toEqual(['a/60', 'b/60…', 'c/60…', 'a/60…']);
  });

  test('other edits, or another order of regions, change no span', async () => {
    const { id } = await makeMonitor(context, { regions: ['a', 'b'] });
    const before = await spansOf(id);
    await update(id, { name: 'Other', url: 'https://other.example', regions: ['b', 'a'], interval: 60 });
    expect(await spansOf(id)).toEqual(before);
  });

  test('concurrent changes leave no overlap and no second running span', async () => {
    const { id } = await makeMonitor(context);
    await Promise.all([5, 6, 7, 8, 9, 10].map((interval) => update(id, { interval })));
    const spans = await spansOf(id);
    expect(spans).toHaveLength(7);
    spans.forEach((span, index) => expect(span.endsAt).toEqual(spans[index + 1]?.startsAt ?? null));
  });

  test('a clock that steps back causes no overlap', async () => {
    const { id } = await makeMonitor(context);
    const future = new Date(Date.now() + 60_000);
    await context.db.update(scheduleSpans).set({ startsAt: future });
    await update(id, { interval: 20 });
    const [first, second] = await spansOf(id);
    expect(first?.endsAt?.getTime()).toBe(future.getTime() + 1);
    expect(second?.startsAt).toEqual(first?.endsAt);
  });

  test('an edit that fails changes no span', async () => {
    await makeMonitor(context, { externalId: 'taken' });
    const { id } = await makeMonitor(context, { regions: ['a'] });
    await expect(update(id, { interval: 20, regions: ['b'], externalId: 'taken' })).rejects.toThrow();
    expect(await outline(id)).toEqual(['a/60…']);
  });

  test('a new default region moves monitors without a list of regions', async () => {
    const { id } = await makeMonitor(context, { interval: 30 });
    const named = await makeMonitor(context, { regions: ['default'] });
    expect(await alignDefaultRegion(context.db, 'other')).toBe(1);
    expect(await outline(id)).toEqual(['default/30', 'other/30…']);
    expect(await outline(named.id)).toEqual(['default/60…']);
    expect(await alignDefaultRegion(context.db, 'other')).toBe(0);
  });

  test('an edit after a change of the default region moves the monitor too', async () => {
    const { id } = await makeMonitor(context);
    await updateMonitor(context, systemActor(context.accountId), id, { name: 'Other' }, 'other');
    expect(await outline(id)).toEqual(['default/60', 'other/60…']);
  });

  test('are deleted with their monitor', async () => {
    const { id } = await makeMonitor(context);
    await deleteMonitor(context.db, systemActor(context.accountId), id);
    expect(await spansOf(id)).toEqual([]);
  });
});

describe('alignSpans', () => {
  test('creates the missing span of each monitor, and none twice', async () => {
    const monitors = await Promise.all([60, 5].map((interval) => makeMonitor(context, { interval })));
    const known = await makeMonitor(context);
    const before = await spansOf(known.id);
    for (const { id } of monitors) {
      await context.db.delete(scheduleSpans).where(eq(scheduleSpans.monitorId, id));
    }
    const start = Date.now();
    await migrate(context.url);
    await migrate(context.url);
    for (const { id, interval } of monitors) {
      const [span, ...more] = await spansOf(id);
      expect(more).toEqual([]);
      expect(span).toMatchObject({ intervalSeconds: interval, phaseMs: phaseMs(id, interval * 1_000) });
      expect(span?.startsAt.getTime()).toBeGreaterThanOrEqual(start - 1_000);
    }
    expect(await spansOf(known.id)).toEqual(before);
  });

  test('repairs spans with another interval or other regions than their monitor', async () => {
    const { id } = await makeMonitor(context, { regions: ['a', 'b'] });
    await context.db.execute(sql`update monitors set interval_seconds = 30`);
    await context.db.execute(sql`update monitor_regions set region = 'c' where region = 'b'`);
    expect(await alignSpans(context.db)).toBe(1);
    expect(await outline(id)).toEqual(['a/60', 'b/60', 'a/30…', 'c/30…']);
    expect(await alignSpans(context.db)).toBe(0);
  });

  test('repairs more monitors than one transaction handles', async () => {
    await context.db.execute(sql`
      insert into monitors (id, account_id, name, url, type, interval_seconds, timeout_seconds, method,
        failure_threshold, regions)
      select gen_random_uuid(), ${context.accountId}, 'Shop', 'https://shop.example', 'HTTP', 60, 10, 'GET', 1, '{}'
      from generate_series(1, 1001)`);
    await context.db.execute(
      sql`insert into monitor_regions (monitor_id, region) select id, 'default' from monitors`,
    );
    expect(await alignSpans(context.db)).toBe(1_001);
    const { rows } = await context.db.execute(
      sql`select count(distinct phase_ms)::int as n from schedule_spans`,
    );
    expect(rows[0]?.['n']).toBeGreaterThan(600);
  });

  test('skips a locked monitor until the next call', async () => {
    const { id } = await makeMonitor(context);
    await context.db.delete(scheduleSpans);
    await context.db.transaction(async (tx) => {
      await tx.execute(sql`select from monitors where id = ${id} for no key update`);
      expect(await alignSpans(context.db)).toBe(0);
    });
    expect(await alignSpans(context.db)).toBe(1);
    expect(await outline(id)).toEqual(['default/60…']);
  });
});
