import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { MonitorUpdate } from '@tocsin/contracts/monitors/monitor';
import { systemActor } from '@tocsin/db/audit-log/actor';
import type { CheckRecord } from '@tocsin/db/checks/check-record';
import { recordChecks } from '@tocsin/db/checks/record-checks';
import { listIncidents } from '@tocsin/db/incidents/read-incidents';
import { getMonitor } from '@tocsin/db/monitors/read-monitors';
import { updateMonitor } from '@tocsin/db/monitors/update-monitors';
import { statusChanges } from '@tocsin/db/status-changes/table';
import { asc, eq, sql } from 'drizzle-orm';
import {
  checkOf,
  failureOf,
  makeMonitor,
  openTestContext,
  type TestContext,
  listMonitors,
} from './harness.ts';
import { begin, end, makeWindow, payloadsOf } from './maintenance-harness.ts';

let context: TestContext;
beforeAll(async () => {
  context = await openTestContext();
});
afterAll(() => context.close());

async function fail(
  id: string,
  errorDetail: string | null,
  fields: Partial<CheckRecord> = {},
): Promise<void> {
  await recordChecks(context.db, [failureOf(id, { errorDetail, ...fields })]);
}

async function pass(id: string, fields: Partial<CheckRecord> = {}): Promise<void> {
  await recordChecks(context.db, [checkOf(id, fields)]);
}

/** What is stated in each place. */
async function wordsOf(id: string): Promise<{
  monitor: string | null;
  listed: string | null | undefined;
  changes: (string | null)[];
  incidents: (string | null)[];
}> {
  const { db, viewer, accountId } = context;
  const changes = await db
    .select()
    .from(statusChanges)
    .where(eq(statusChanges.monitorId, id))
    .orderBy(asc(statusChanges.timestamp));
  const incidents = await listIncidents(db, accountId, { limit: 10, monitorId: id });
  return {
    monitor: (await getMonitor(context, viewer, id)).monitor.errorDetail,
    listed: (await listMonitors(context, viewer)).find((one) => one.id === id)?.errorDetail,
    changes: changes.map(({ toStatus, errorDetail }) => `${toStatus}: ${errorDetail}`),
    incidents: incidents.map(({ errorDetail }) => errorDetail),
  };
}

async function update(id: string, fields: MonitorUpdate): Promise<void> {
  await updateMonitor(context, systemActor(context.accountId), id, fields, 'default', null);
}

describe('why a monitor is DOWN', () => {
  test('is stated by the check that decided it, until it recovers', async () => {
    const { id } = await makeMonitor(context, { failureThreshold: 2 });
    await fail(id, 'name shop.example does not exist');
    expect(await wordsOf(id)).toEqual({ monitor: null, listed: null, changes: ['UP: null'], incidents: [] });
    await fail(id, 'connection refused');
    // The words are those of the status change.
    await fail(id, 'connection reset');
    expect(await wordsOf(id)).toEqual({
      monitor: 'connection refused',
      listed: 'connection refused',
      changes: ['UP: null', 'DOWN: connection refused'],
      incidents: ['connection refused'],
    });
    await pass(id);
    expect(await wordsOf(id)).toEqual({
      monitor: null,
      listed: null,
      changes: ['UP: null', 'DOWN: connection refused', 'UP: null'],
      incidents: ['connection refused'],
    });
  });

  test('is not part of the webhook', async () => {
    const { id } = await makeMonitor(context);
    await fail(id, 'connection refused');
    const [payload] = await payloadsOf(context, id);
    expect(payload).toMatchObject({ event: 'monitor.down', errorReason: 'HTTP_500' });
    expect(JSON.stringify(payload)).not.toContain('connection refused');
  });

  test('is that of the region that decided', async () => {
    const { id } = await makeMonitor(context, { regions: ['eu', 'us', 'ap'] });
    await fail(id, 'of eu', { region: 'eu' });
    await pass(id, { region: 'us' });
    await pass(id, { region: 'ap' });
    await fail(id, 'of ap', { region: 'ap' });
    expect(await wordsOf(id)).toMatchObject({ monitor: 'of ap', incidents: ['of ap'] });
  });

  test('is that of the failing region after a change of the threshold or the regions', async () => {
    const one = await makeMonitor(context, { failureThreshold: 2 });
    await fail(one.id, 'of the last check');
    await update(one.id, { failureThreshold: 1 });
    expect(await wordsOf(one.id)).toMatchObject({
      monitor: 'of the last check',
      incidents: ['of the last check'],
    });

    const two = await makeMonitor(context, { regions: ['eu', 'us'] });
    await fail(two.id, 'of eu', { region: 'eu' });
    await pass(two.id, { region: 'us' });
    expect((await wordsOf(two.id)).monitor).toBeNull();
    await update(two.id, { regions: ['eu'] });
    expect(await wordsOf(two.id)).toMatchObject({ monitor: 'of eu', incidents: ['of eu'] });
  });

  test('is announced at the end of maintenance', async () => {
    const { id } = await makeMonitor(context);
    await pass(id);
    const window = await makeWindow(context, [id]);
    await begin(context, window);
    await fail(id, 'during maintenance');
    expect((await wordsOf(id)).monitor).toBeNull();
    await end(context, window);
    expect(await wordsOf(id)).toMatchObject({
      monitor: 'during maintenance',
      changes: ['UP: null', 'MAINTENANCE: null', 'DOWN: during maintenance'],
      incidents: ['during maintenance'],
    });
  });

  test('returns silently with DOWN after maintenance, even without a result', async () => {
    const { id } = await makeMonitor(context);
    await fail(id, 'before maintenance');
    const window = await makeWindow(context, [id]);
    await begin(context, window);
    expect((await wordsOf(id)).monitor).toBeNull();
    // Resets the results of its regions.
    await update(id, { url: 'https://other.example/' });
    await end(context, window);
    expect(await wordsOf(id)).toMatchObject({
      monitor: 'before maintenance',
      changes: ['DOWN: before maintenance', 'MAINTENANCE: null', 'DOWN: before maintenance'],
      incidents: ['before maintenance'],
    });
  });

  test('is forgotten if the monitor recovers during maintenance', async () => {
    const { id } = await makeMonitor(context);
    await fail(id, 'before maintenance');
    const window = await makeWindow(context, [id]);
    await begin(context, window);
    await pass(id);
    await end(context, window);
    expect((await wordsOf(id)).monitor).toBeNull();
    await fail(id, null);
    expect(await wordsOf(id)).toMatchObject({ monitor: null, incidents: [null, 'before maintenance'] });
  });

  test('does not change the version of the monitor', async () => {
    const { id } = await makeMonitor(context);
    const { version } = await getMonitor(context, context.viewer, id);
    await fail(id, 'connection refused');
    expect((await getMonitor(context, context.viewer, id)).version).toBe(version);
  });

  test('is null if the previous release has recorded it', async () => {
    const { id } = await makeMonitor(context);
    await fail(id, 'connection refused');
    for (const table of ['monitors', 'incidents', 'status_changes'])
      await context.db.execute(sql`update ${sql.identifier(table)} set error_detail = null`);
    expect(await wordsOf(id)).toEqual({
      monitor: null,
      listed: null,
      changes: ['DOWN: null'],
      incidents: [null],
    });
  });
});
