import { randomBytes } from 'node:crypto';
import { describe, expect, test } from '@jest/globals';
import { AppError } from '@tocsin/contracts/errors';
import { SecretBox } from '@tocsin/core/secrets/secret-box';
import { DURATION_BOUNDS_MS } from '@tocsin/core/stats/latency-histogram';
import type { CheckOutcome, CheckRecord, SealResponse } from '@tocsin/db/checks/check-record';
import { recordChecks } from '@tocsin/db/checks/record-checks';
import { findEvent, getEventResponse, listEvents, tailEvents } from '@tocsin/db/events/read-events';
import { incidents } from '@tocsin/db/incidents/table';
import { type MonitorMetrics, readMonitorMetrics } from '@tocsin/db/monitor-regions/read-metrics';
import { watchRegions } from '@tocsin/db/monitor-regions/read-regions';
import { monitorRegions } from '@tocsin/db/monitor-regions/table';
import { deleteMonitor } from '@tocsin/db/monitors/delete-monitors';
import { findMonitorRow } from '@tocsin/db/monitors/monitor-row';
import { monitors } from '@tocsin/db/monitors/table';
import { createTrigger, findTriggerEvent } from '@tocsin/db/triggers/triggers';
import { accounts } from '@tocsin/db/users/table';
import { eq, sql } from 'drizzle-orm';
import { checkOf, copyMonitor, editMonitor, failureOf, makeMonitor, useTestContext } from './harness.ts';

const context = await useTestContext();
const { db, accountId, actor } = context;

const NO_RESPONSE = { statusCode: null, errorReason: 'TIMEOUT', errorDetail: 'no response' } as const;

async function record(...checks: CheckRecord[]): Promise<CheckOutcome['kind'][]> {
  return (await recordChecks(db, checks)).map(({ kind }) => kind);
}

const eventsOf = (id: string) => listEvents(db, accountId, id, { limit: 100 });

describe('an inconclusive result', () => {
  const isolated = (id: string, fields: Partial<CheckRecord> = {}): CheckRecord =>
    failureOf(id, { ...NO_RESPONSE, network: 'isolated', ...fields });
  const unproven = (id: string, fields: Partial<CheckRecord> = {}): CheckRecord =>
    failureOf(id, { ...NO_RESPONSE, network: 'unproven', ...fields });

  /** Reads everything that a result may change besides its event, which is the monitor, its regions, incidents and status changes. */
  async function stateOf(id: string): Promise<Record<string, unknown>> {
    const [row] = await db.select().from(monitors).where(eq(monitors.id, id));
    const { lastTimestamp: _, ...monitor } = row ?? { lastTimestamp: null };
    const regions = await db.select().from(monitorRegions).where(eq(monitorRegions.monitorId, id));
    const opened = await db.select().from(incidents).where(eq(incidents.monitorId, id));
    const { rowCount } = await db.execute(sql`select from status_changes where monitor_id = ${id}`);
    return {
      monitor,
      regions: regions.map(
        ({ recentSlots: _slots, lastCheckedAt: _checked, inconclusiveChecks: _count, ...kept }) => kept,
      ),
      opened,
      rowCount,
    };
  }

  async function regionOf(id: string): Promise<{ lastCheckedAt: number; lastResultAt: number | undefined }> {
    const [row] = await db.select().from(monitorRegions).where(eq(monitorRegions.monitorId, id));
    return {
      lastCheckedAt: row?.lastCheckedAt?.getTime() ?? NaN,
      lastResultAt: row?.lastResultAt?.getTime(),
    };
  }

  test.each(['PENDING', 'UP', 'DOWN'] as const)(
    'is an event, and a monitor that is %s stays as it is',
    async (status) => {
      const { id } = await makeMonitor(context, { failureThreshold: 2 });
      const failures = { PENDING: 0, UP: 1, DOWN: 3 }[status];
      for (let count = 0; count < failures; count += 1) await record(failureOf(id));
      const before = await stateOf(id);
      expect(before).toMatchObject({ monitor: { status }, opened: status === 'DOWN' ? [{}] : [] });
      for (const network of ['isolated', 'unavailable'] as const)
        expect(await record(isolated(id, { network }))).toEqual(['recorded']);
      expect(await stateOf(id)).toEqual(before);
      const events = (await eventsOf(id)).map(({ status: own, inconclusive }) => [own, inconclusive]);
      expect(events).toEqual([
        ...Array.from({ length: failures }, () => ['DOWN', false]),
        ['DOWN', true],
        ['DOWN', true],
      ]);
    },
  );

  test('during maintenance does not end PENDING', async () => {
    const { id } = await makeMonitor(context);
    await db.execute(sql`
      update monitors set status = 'MAINTENANCE', status_before_maintenance = 'PENDING' where id = ${id}`);
    await record(isolated(id));
    expect(await findMonitorRow(db, accountId, id)).toMatchObject({ statusBeforeMaintenance: 'PENDING' });
    await record(failureOf(id));
    expect(await findMonitorRow(db, accountId, id)).toMatchObject({ statusBeforeMaintenance: 'UP' });
  });

  test('is not recorded while its network is unproven, unless its region fails already', async () => {
    const { id } = await makeMonitor(context, { failureThreshold: 2 });
    expect(await record(unproven(id), failureOf(id), failureOf(id))).toEqual([
      'unproven',
      'recorded',
      'busy',
    ]);
    const before = await stateOf(id);
    expect(before).toMatchObject({ regions: [{ consecutiveFailures: 1 }], monitor: { status: 'UP' } });
    const waiting = unproven(id);
    expect(await record(waiting)).toEqual(['unproven']);
    expect(await stateOf(id)).toEqual(before);
    expect(await eventsOf(id)).toHaveLength(1);
    // The next result of the same monitor in the batch need not wait.
    expect(await record(waiting, isolated(id))).toEqual(['unproven', 'recorded']);
    expect(await record({ ...waiting, network: null })).toEqual(['recorded']);
    const after = { monitor: { status: 'DOWN' }, regions: [{ consecutiveFailures: 2 }] };
    expect(await stateOf(id)).toMatchObject(after);
    // If a region already fails, its network was proven before.
    expect(await record(unproven(id))).toEqual(['recorded']);
  });

  test('settles its trigger, but not while its network is unproven', async () => {
    const { id } = await makeMonitor(context);
    const { id: triggerId } = await createTrigger(db, await findMonitorRow(db, accountId, id), null, 60_000);
    const check = unproven(id, { source: 'trigger', slot: null, triggerId });
    expect(await record(check)).toEqual(['unproven']);
    expect(await findTriggerEvent(db, triggerId)).toBeNull();
    expect(await record({ ...check, network: 'isolated' })).toEqual(['recorded']);
    const event = await findEvent(db, accountId, id, (await findTriggerEvent(db, triggerId)) ?? new Date(0));
    expect(event).toMatchObject({ source: 'trigger', inconclusive: true });
  });

  test('shows that its region is not overdue', async () => {
    await db.execute(sql`truncate monitors cascade`);
    const { id } = await makeMonitor(context, { interval: 60 });
    await record(failureOf(id));
    await db.execute(sql`
      update monitor_regions set since = now() - interval '1 day', last_result_at = now() - interval '1 day',
        last_checked_at = now() - interval '1 day'`);
    const overdue = async (): Promise<number | undefined> =>
      (await watchRegions(db, 1)).get('default')?.overdue;
    expect(await overdue()).toBe(1);
    await record(isolated(id));
    expect(await overdue()).toBe(0);
    const { lastCheckedAt, lastResultAt } = await regionOf(id);
    expect(lastCheckedAt).toBeGreaterThan(lastResultAt ?? Infinity);
  });

  test('counts as a check of its region, even if the monitor was edited in the meantime', async () => {
    const { id } = await makeMonitor(context);
    await record(isolated(id));
    const before = await regionOf(id);
    await editMonitor(context, id, { url: 'https://other.example' });
    await record(isolated(id, { revision: 1 }));
    const after = await regionOf(id);
    expect(after.lastCheckedAt).toBeGreaterThan(before.lastCheckedAt);
    expect(after.lastResultAt).toBeUndefined();
  });
});

describe('the response', () => {
  const RESPONSE = { headers: { 'retry-after': '30' }, body: 'upstream is away' };
  let sealed = 0;
  const sealResponse: SealResponse = ({ response }) => {
    if (response !== null) sealed += 1;
    return response && context.secrets.encrypt(JSON.stringify(response()));
  };

  const failed = (id: string, fields: Partial<CheckRecord> = {}): CheckRecord =>
    failureOf(id, { response: () => RESPONSE, ...fields });

  /** Records checks in order. @returns whether each kept its response */
  async function recordKeeping(id: string, checks: readonly CheckRecord[]): Promise<boolean[]> {
    sealed = 0;
    for (const check of checks) await recordChecks(db, [check], { sealResponse });
    return (await eventsOf(id)).map(({ hasResponse }) => hasResponse);
  }

  test('of the first failed check after a passing one is kept, and only that one is sealed', async () => {
    const { id } = await makeMonitor(context, { failureThreshold: 3 });
    const checks = [failed(id), failed(id), checkOf(id), checkOf(id), failed(id), failed(id)];
    // The first check that fails may have no response.
    checks.push(checkOf(id), failureOf(id), failed(id));
    const kept = [true, false, false, false, true, false, false, false, false];
    expect(await recordKeeping(id, checks)).toEqual(kept);
    expect(sealed).toBe(2);
  });

  test('is kept for each region', async () => {
    const { id } = await makeMonitor(context, { regions: ['eu', 'us'] });
    const checks = ['eu', 'eu', 'us', 'us'].map((region) => failed(id, { region }));
    expect(await recordKeeping(id, checks)).toEqual([true, false, true, false]);
  });

  test('is not kept for a check that does not count', async () => {
    const { id } = await makeMonitor(context, { regions: ['eu'] });
    await editMonitor(context, id, { url: 'https://other.example/' });
    const current = { region: 'eu', revision: 2 };
    const checks = [
      failed(id, { region: 'eu', revision: 1 }),
      failed(id, { region: 'us', revision: 2 }),
      failed(id, { ...current, source: 'trigger', slot: null, urlOverride: 'https://x.example/' }),
      failed(id, { ...current, network: 'isolated' }),
      failed(id, current),
    ];
    expect(await recordKeeping(id, checks)).toEqual([false, false, false, false, true]);
    expect(sealed).toBe(1);
  });

  test('can be read by its account, with the event that it belongs to', async () => {
    const { id } = await makeMonitor(context);
    await recordKeeping(id, [failed(id, { statusCode: 503 }), failed(id)]);
    const [first, second] = await eventsOf(id);
    const read = (timestamp = '2020-01-01T00:00:00Z', account = accountId, reader = context) =>
      getEventResponse(reader, account, id, new Date(timestamp));
    expect(await read(first?.timestamp)).toEqual({ statusCode: 503, ...RESPONSE });
    await expect(read(second?.timestamp)).rejects.toThrow(AppError);
    await expect(read()).rejects.toThrow('No response was kept');
    await expect(read(first?.timestamp, '00000000-0000-0000-0000-000000000000')).rejects.toThrow(AppError);
    const keyLost = { ...context, secrets: new SecretBox([randomBytes(32)]) };
    const unreadable = { statusCode: 503, headers: {}, body: '(unreadable)' };
    expect(await read(first?.timestamp, accountId, keyLost)).toEqual(unreadable);
  });

  test('is encrypted at rest, and no list contains it', async () => {
    const { id } = await makeMonitor(context);
    await recordKeeping(id, [failed(id)]);
    const { rows } = await db.execute(sql`select e::text as row from events e where monitor_id = ${id}`);
    expect(JSON.stringify(rows)).toContain('v1.');
    const ranges = [{ monitorId: id, after: 0, upTo: Date.now() + 60_000 }];
    const events = await tailEvents(db, accountId, ranges, 9);
    expect(events).toHaveLength(1);
    expect(JSON.stringify(events)).not.toContain('v1.');
    expect(JSON.stringify([rows, events])).not.toContain('away');
  });
});

describe('the counters of a region', () => {
  const REGIONS = ['eu', 'us'];

  async function readMetrics(source?: string): Promise<MonitorMetrics[]> {
    const found: MonitorMetrics[] = [];
    const filter = { source, withLabels: true };
    for await (const page of readMonitorMetrics(db, accountId, filter)) found.push(...page);
    return found;
  }

  test('are read in pages with a limited number of regions', async () => {
    const { id } = await makeMonitor(context, { regions: ['a', 'b', 'c', 'd', 'e'] });
    await copyMonitor(context, id, 99);
    const sizes: number[] = [];
    for await (const page of readMonitorMetrics(db, accountId, { withLabels: false }))
      sizes.push(page.flatMap(({ regions }) => regions).length);
    expect(Math.max(...sizes)).toBeLessThanOrEqual(255);
  });

  async function metricsOf(monitorId: string): Promise<MonitorMetrics | undefined> {
    return (await readMetrics()).find(({ id }) => id === monitorId);
  }

  /** Counts the events of a monitor in a region. */
  async function countEvents(monitorId: string, region: string): Promise<object> {
    const { rows } = await db.execute<{ result: string; duration: number | null }>(sql`
      select case when inconclusive then 'inconclusive' else status end as result,
        case when status_code is not null and not inconclusive then latency_ms end as duration
      from events where monitor_id = ${monitorId} and region = ${region} and url is null`);
    const countOf = (wanted: string): number => rows.filter(({ result }) => result === wanted).length;
    const durations = rows.flatMap(({ duration }) => duration ?? []);
    const durationCounts = Array.from({ length: DURATION_BOUNDS_MS.length + 1 }, () => 0);
    for (const duration of durations) {
      const bucket = DURATION_BOUNDS_MS.filter((bound) => bound < duration).length;
      durationCounts[bucket] = (durationCounts[bucket] ?? 0) + 1;
    }
    return {
      upChecks: countOf('UP'),
      downChecks: countOf('DOWN'),
      inconclusiveChecks: countOf('inconclusive'),
      durationCounts,
      durationSumMs: durations.reduce((sum, duration) => sum + duration, 0),
    };
  }

  const LATENCIES = [0, 1, 50, 51, 100, 2_500, 2_501, 10_000, 10_001, 60_000];

  /** Makes a result whose kind depends on its number. */
  function checkNumber(index: number, monitorId: string, revision: number): CheckRecord {
    const fields = {
      region: index % 17 === 0 ? 'removed' : (REGIONS[Math.floor(index / 4) % 2] ?? ''),
      revision: index % 5 === 0 ? 1 : revision,
      latencyMs: LATENCIES[index % LATENCIES.length] ?? 0,
      ...(index % 13 === 0 &&
        ({ urlOverride: 'https://other.example/', source: 'trigger', slot: null } as const)),
    };
    if (index % 7 === 0) return failureOf(monitorId, { ...fields, ...NO_RESPONSE, network: 'isolated' });
    if (index % 3 === 0) return failureOf(monitorId, { ...fields, ...(index % 2 === 0 && NO_RESPONSE) });
    return checkOf(monitorId, fields);
  }

  /** Records checks in batches until none is busy. */
  async function recordAll(checks: readonly CheckRecord[]): Promise<void> {
    for (let left = [...checks]; left.length > 0;) {
      const kinds = await record(...left);
      left = left.filter((_, index) => kinds[index] === 'busy');
    }
  }

  test('equal its events, whatever their results, with several checkers at once', async () => {
    const made = await Promise.all(
      Array.from({ length: 4 }, () => makeMonitor(context, { regions: REGIONS, failureThreshold: 2 })),
    );
    for (const { id } of made) await editMonitor(context, id, { timeout: 7 });
    const checks = Array.from({ length: 160 }, (_, index) =>
      checkNumber(index, made[index % made.length]?.id ?? '', 2),
    );
    const writers = [0, 1, 2].map((writer) =>
      recordAll(checks.filter((_, index) => Math.floor(index / 40) % 3 === writer)),
    );
    await Promise.all([...writers, recordAll(checks.slice(0, 40))]);
    for (const { id } of made) {
      const metrics = await metricsOf(id);
      expect(metrics?.regions.map(({ region }) => region)).toEqual(REGIONS);
      for (const { region, lastCheckedAt: _, ...counters } of metrics?.regions ?? []) {
        expect(counters).toEqual(await countEvents(id, region));
        const { upChecks, downChecks, inconclusiveChecks } = counters;
        expect(Math.min(upChecks, downChecks, inconclusiveChecks)).toBeGreaterThan(0);
      }
    }
  });

  test('survive the events and edits of the monitor, and start at 0 if the region is added again', async () => {
    const { id } = await makeMonitor(context, { regions: REGIONS });
    await recordAll([checkOf(id, { region: 'eu' }), failureOf(id, { region: 'eu' })]);
    await db.execute(sql`delete from events where monitor_id = ${id}`);
    await editMonitor(context, id, { url: 'https://moved.example', interval: 30 });
    await editMonitor(context, id, { regions: ['eu'] });
    await recordAll([checkOf(id, { region: 'eu' })]);
    expect((await metricsOf(id))?.regions).toMatchObject([{ region: 'eu', upChecks: 2, downChecks: 1 }]);
    await editMonitor(context, id, { regions: ['us'] });
    await editMonitor(context, id, { regions: REGIONS });
    expect((await metricsOf(id))?.regions).toMatchObject([
      { upChecks: 0, lastCheckedAt: null },
      { upChecks: 0 },
    ]);
  });

  test('come with the number of incidents, also of deleted ones, and the earliest certificate', async () => {
    const { id } = await makeMonitor(context, { regions: REGIONS });
    const [later, earlier] = [new Date('2030-01-01T00:00:00Z'), new Date('2029-01-01T00:00:00Z')];
    await recordAll([checkOf(id, { region: 'eu', certificateExpiresAt: later })]);
    expect(await metricsOf(id)).toMatchObject({ incidents: 0, certificateExpiresAt: later.getTime() });
    await recordAll([checkOf(id, { region: 'us', certificateExpiresAt: earlier })]);
    expect(await metricsOf(id)).toMatchObject({ certificateExpiresAt: earlier.getTime() });
    await editMonitor(context, id, { regions: ['us'] });
    for (const check of [failureOf, failureOf, checkOf, failureOf])
      await recordAll([check(id, { region: 'us' })]);
    await db.execute(sql`delete from incidents where monitor_id = ${id}`);
    expect(await metricsOf(id)).toMatchObject({ status: 'DOWN', incidents: 2 });
  });

  test('are read once for each monitor of the account and source, without deleted ones', async () => {
    const [other] = await db.insert(accounts).values({ name: 'Other' }).returning();
    await makeMonitor({ ...context, accountId: other?.id ?? '' }, { source: 'many' });
    const { id: one } = await makeMonitor(context, { source: 'many', labels: { app: 'shop' } });
    // This is more than a page.
    await copyMonitor(context, one, 519);
    await makeMonitor(context, { source: 'few' });
    // Within a millisecond, the order of the ids decides.
    await db.execute(sql`update monitors set created_at = '2026-01-01T00:00:00Z' where source = 'many'`);
    const ids = (await readMetrics('many')).map(({ id }) => id).toSorted();
    expect(new Set(ids).size).toBe(520);
    const [deleted = ''] = ids.splice(249, 1);
    await deleteMonitor(db, actor, deleted, null);
    const found = await readMetrics('many');
    expect(found.map(({ id }) => id)).toEqual(ids);
    expect(found[0]).toMatchObject({ source: 'many', labels: { app: 'shop' } });
  });
});
