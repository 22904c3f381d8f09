import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { webhookPayloadSchema } from '@tocsin/contracts/deliveries/webhook';
import { systemActor } from '@tocsin/db/audit-log/actor';
import { createChannel } from '@tocsin/db/channels/write-channels';
import { recordChecks } from '@tocsin/db/checks/record-checks';
import type { CheckOutcome, CheckRecord } from '@tocsin/db/checks/check-record';
import { isRefusal, isTemporary, isTimeout } from '@tocsin/db/database/errors';
import { ensureEventPartitions } from '@tocsin/db/events/partitions';
import { listEvents } from '@tocsin/db/events/read-events';
import { incidents } from '@tocsin/db/incidents/table';
import { monitorRegions } from '@tocsin/db/monitor-regions/table';
import { findMonitorRow } from '@tocsin/db/monitors/monitor-row';
import { getMonitor } from '@tocsin/db/monitors/read-monitors';
import { updateMonitor } from '@tocsin/db/monitors/update-monitors';
import { statusChanges } from '@tocsin/db/status-changes/table';
import { createTrigger, findTriggerEvent } from '@tocsin/db/triggers/triggers';
import { and, asc, eq, isNull, sql } from 'drizzle-orm';
import { checkOf, failureOf, makeMonitor, openTestContext, type TestContext } from './harness.ts';

let context: TestContext;
beforeAll(async () => {
  context = await openTestContext();
});
afterAll(() => context.close());

async function recordOne(check: CheckRecord): Promise<CheckOutcome> {
  const [outcome] = await recordChecks(context.db, [check]);
  if (!outcome) throw new Error('no outcome');
  return outcome;
}

async function statusOf(id: string): Promise<string> {
  return (await getMonitor(context, context.viewer, id)).monitor.status;
}

async function changesOf(monitorId: string): Promise<(typeof statusChanges.$inferSelect)[]> {
  return context.db
    .select()
    .from(statusChanges)
    .where(eq(statusChanges.monitorId, monitorId))
    .orderBy(asc(statusChanges.timestamp));
}

describe('recordChecks', () => {
  test('writes the event with all results of the check', async () => {
    const { id, name, runbookUrl } = await makeMonitor(context);
    const outcome = await recordOne(failureOf(id));
    expect(outcome).toMatchObject({ kind: 'recorded', outdated: false });
    const [event] = await listEvents(context.db, context.accountId, id, { limit: 10 });
    expect(event).toEqual({
      id: expect.any(String),
      monitorId: id,
      monitorName: name,
      status: 'DOWN',
      latency: 31,
      statusCode: 500,
      errorReason: 'HTTP_500',
      errorDetail: 'responded with 500',
      region: 'default',
      timestamp: expect.any(String),
      source: 'schedule',
      url: null,
      timings: { dns: 1, tcp: 2, tls: 3, firstByte: 4, download: 2 },
      runbookUrl,
      inconclusive: false,
      hasResponse: false,
    });
  });

  test('PENDING ends with the first check; DOWN and recovery create an incident and four payloads', async () => {
    const monitor = await makeMonitor(context);
    await createChannel(context, systemActor(context.accountId), {
      name: 'ops',
      url: 'https://hooks.example',
      monitorIds: [monitor.id],
    });
    expect(monitor.status).toBe('PENDING');
    expect(await recordOne(checkOf(monitor.id))).toMatchObject({ statusChangeId: null });
    expect(await statusOf(monitor.id)).toBe('UP');
    const wentDown = await recordOne(failureOf(monitor.id));
    expect(await statusOf(monitor.id)).toBe('DOWN');
    expect(await recordOne(failureOf(monitor.id))).toMatchObject({ statusChangeId: null });
    const cameUp = await recordOne(checkOf(monitor.id));
    expect(await statusOf(monitor.id)).toBe('UP');

    const changes = await changesOf(monitor.id);
    expect(changes.map((change) => [change.fromStatus, change.toStatus])).toEqual([
      ['PENDING', 'UP'],
      ['UP', 'DOWN'],
      ['DOWN', 'UP'],
    ]);
    expect(changes[0]).toMatchObject({ webhookEvents: [], dispatchedAt: expect.any(Date) });
    expect(wentDown).toMatchObject({ statusChangeId: changes[1]?.id });
    expect(cameUp).toMatchObject({ statusChangeId: changes[2]?.id });

    const payloads = changes.flatMap((change) =>
      change.webhookEvents.map(({ payload }) => webhookPayloadSchema.parse(JSON.parse(payload))),
    );
    expect(payloads.map((payload) => payload.event)).toEqual([
      'monitor.down',
      'incident.created',
      'monitor.up',
      'incident.resolved',
    ]);
    expect(payloads[0]).toEqual({
      event: 'monitor.down',
      monitorId: monitor.id,
      monitorName: monitor.name,
      status: 'DOWN',
      previousStatus: 'UP',
      latency: 31,
      errorReason: 'HTTP_500',
      region: 'default',
      timestamp: expect.any(String),
      runbookUrl: monitor.runbookUrl,
    });
    expect(payloads[1]).toEqual({ ...payloads[0], event: 'incident.created', timestamp: expect.any(String) });
    expect(payloads[2]).toMatchObject({
      status: 'UP',
      previousStatus: 'DOWN',
      errorReason: null,
      latency: 12,
    });
    const timestamps = payloads.map((payload) => payload.timestamp);
    expect(new Set(timestamps).size).toBe(4);
    expect(timestamps).toEqual(timestamps.toSorted());

    const [incident] = await context.db.select().from(incidents).where(eq(incidents.monitorId, monitor.id));
    expect(incident).toMatchObject({
      cause: 'HTTP_500',
      region: 'default',
      resolvedAt: changes[2]?.timestamp,
    });
    expect(incident?.openedAt).toEqual(changes[1]?.timestamp);
  });

  test('the threshold counts consecutive failures', async () => {
    const { id } = await makeMonitor(context, { failureThreshold: 3 });
    for (const check of [failureOf(id), failureOf(id), checkOf(id), failureOf(id), failureOf(id)]) {
      await recordOne(check);
      expect(await statusOf(id)).toBe('UP');
    }
    await recordOne(failureOf(id));
    expect(await statusOf(id)).toBe('DOWN');
  });

  test('a result of a recorded slot is dropped', async () => {
    const { id } = await makeMonitor(context);
    const check = failureOf(id);
    expect(await recordOne(check)).toMatchObject({ kind: 'recorded' });
    expect(await recordOne({ ...check, status: 'UP', errorReason: null })).toEqual({
      kind: 'duplicate',
      unconfirmed: false,
    });
    expect(await listEvents(context.db, context.accountId, id, { limit: 10 })).toHaveLength(1);
  });

  test('the second of two results of one monitor in a batch is busy', async () => {
    const { id } = await makeMonitor(context);
    const outcomes = await recordChecks(context.db, [failureOf(id), checkOf(id)]);
    expect(outcomes.map((outcome) => outcome.kind)).toEqual(['recorded', 'busy']);
  });

  test('a locked monitor is busy and does not delay others', async () => {
    const [held, free] = [await makeMonitor(context), await makeMonitor(context)];
    await context.db.transaction(async (tx) => {
      await tx.execute(`select 1 from monitors where id = '${held.id}' for update`);
      const outcomes = await recordChecks(context.db, [checkOf(held.id), checkOf(free.id)]);
      expect(outcomes.map((outcome) => outcome.kind)).toEqual(['busy', 'recorded']);
    });
    expect(await recordOne(checkOf(held.id))).toMatchObject({ kind: 'recorded' });
  });

  test('a time limit for statements ends with the transaction', async () => {
    const { id } = await makeMonitor(context);
    await context.db.transaction(async (tx) => {
      await tx.execute(sql`lock table events in access exclusive mode`);
      const recording = recordChecks(context.db, [checkOf(id)], { statementTimeoutMs: 50 });
      const error: unknown = await recording.catch((reason: unknown) => reason);
      expect([isTimeout(error), isTemporary(error), isRefusal(error)]).toEqual([true, true, true]);
    });
    await context.db.transaction(async (tx) => {
      await recordChecks(tx, [checkOf(id)], { statementTimeoutMs: 50_000 });
      await expect(tx.execute(sql`show statement_timeout`)).resolves.toMatchObject({
        rows: [{ statement_timeout: '50s' }],
      });
    });
    const after = await context.db.execute(sql`show statement_timeout`);
    expect(after.rows).toEqual([{ statement_timeout: '2min' }]);
  });

  test('timestamps are strictly increasing with several recorders, and a second open incident is refused', async () => {
    const { id } = await makeMonitor(context);
    const checks = Array.from({ length: 16 }, (_, index) => (index % 2 ? checkOf(id) : failureOf(id)));
    const results = await Promise.all(
      checks.map(async (check) => {
        for (;;) {
          const outcome = await recordOne(check);
          if (outcome.kind === 'recorded') return outcome.timestamp;
        }
      }),
    );
    expect(new Set(results).size).toBe(16);
    const listed = await listEvents(context.db, context.accountId, id, { limit: 500 });
    const timestamps = listed.map((event) => event.timestamp);
    expect(timestamps).toEqual([...new Set(timestamps)].toSorted());
    const changes = await changesOf(id);
    const everyTimestamp = [
      ...timestamps,
      ...changes.flatMap((change) =>
        change.webhookEvents.map(({ payload }) => webhookPayloadSchema.parse(JSON.parse(payload)).timestamp),
      ),
    ];
    expect(new Set(everyTimestamp).size).toBe(everyTimestamp.length);
    const open = await context.db
      .select()
      .from(incidents)
      .where(and(eq(incidents.monitorId, id), isNull(incidents.resolvedAt)));
    expect(open.length).toBeLessThanOrEqual(1);
  });

  test('a late result of an older revision changes no status and is outdated', async () => {
    const { id } = await makeMonitor(context);
    await recordOne(checkOf(id));
    await context.db
      .update(monitorRegions)
      .set({ scheduledRevision: 2 })
      .where(eq(monitorRegions.monitorId, id));
    await updateMonitor(
      context,
      systemActor(context.accountId),
      id,
      { url: 'https://new.example' },
      'default',
    );
    expect(await recordOne(failureOf(id))).toMatchObject({ kind: 'recorded', outdated: true });
    expect(await statusOf(id)).toBe('UP');
    const [region] = await context.db.select().from(monitorRegions).where(eq(monitorRegions.monitorId, id));
    expect(region).toMatchObject({ consecutiveFailures: 0 });
    await recordOne(failureOf(id, { revision: 2 }));
    expect(await statusOf(id)).toBe('DOWN');
  });

  test('an older revision still counts if only the name has changed', async () => {
    const { id } = await makeMonitor(context);
    await recordOne(checkOf(id));
    await updateMonitor(context, systemActor(context.accountId), id, { name: 'Renamed' }, 'default');
    await recordOne(failureOf(id));
    expect(await statusOf(id)).toBe('DOWN');
  });

  test('a check with a URL override only writes an event', async () => {
    const { id } = await makeMonitor(context);
    const override = { source: 'trigger', slot: null, urlOverride: 'https://preview.example' } as const;
    await recordOne(failureOf(id, override));
    const { monitor, events: recent } = await getMonitor(context, context.viewer, id);
    expect(monitor).toMatchObject({ status: 'PENDING', lastCheckedAt: null });
    expect(recent[0]).toMatchObject({ source: 'trigger', url: 'https://preview.example', status: 'DOWN' });
  });

  test('a majority of regions decides', async () => {
    const { id } = await makeMonitor(context, { regions: ['eu', 'us', 'ap'] });
    await recordOne(checkOf(id, { region: 'us' }));
    await recordOne(failureOf(id, { region: 'eu' }));
    expect(await statusOf(id)).toBe('UP');
    await recordOne(failureOf(id, { region: 'ap' }));
    expect(await statusOf(id)).toBe('DOWN');
    await recordOne(checkOf(id, { region: 'eu' }));
    expect(await statusOf(id)).toBe('UP');
    const changes = await changesOf(id);
    expect(changes.map((change) => change.region)).toEqual(['us', 'ap', 'eu']);
  });
});

describe('updateMonitor', () => {
  test('a new threshold is evaluated at once, with the results of the last check', async () => {
    const { id } = await makeMonitor(context, { failureThreshold: 3 });
    await recordOne(checkOf(id));
    await recordOne(failureOf(id));
    const updated = await updateMonitor(
      context,
      systemActor(context.accountId),
      id,
      { failureThreshold: 1 },
      'default',
    );
    expect(updated.monitor.status).toBe('DOWN');
    const changes = await changesOf(id);
    expect(changes.at(-1)).toMatchObject({ id: updated.statusChange?.id, toStatus: 'DOWN' });
    const [down] = changes.at(-1)?.webhookEvents ?? [];
    expect(JSON.parse(down?.payload ?? '')).toMatchObject({ latency: 31, errorReason: 'HTTP_500' });
    const back = await updateMonitor(
      context,
      systemActor(context.accountId),
      id,
      { failureThreshold: 5 },
      'default',
    );
    // Only a passed check recovers a monitor.
    expect(back.monitor.status).toBe('DOWN');
  });

  test('removing the failing region is evaluated at once, except for a PENDING monitor', async () => {
    const { id } = await makeMonitor(context, { regions: ['eu', 'us'] });
    await recordOne(checkOf(id, { region: 'eu' }));
    await recordOne(failureOf(id, { region: 'us' }));
    expect(await statusOf(id)).toBe('UP');
    const updated = await updateMonitor(
      context,
      systemActor(context.accountId),
      id,
      { regions: ['us'] },
      'default',
    );
    expect(updated).toMatchObject({ monitor: { status: 'DOWN' } });
    const pending = await makeMonitor(context);
    const changed = await updateMonitor(
      context,
      systemActor(context.accountId),
      pending.id,
      { regions: ['eu'] },
      'default',
    );
    expect(changed.monitor.status).toBe('PENDING');
  });

  test('a new target with a new threshold recovers nothing without a check', async () => {
    const { id } = await makeMonitor(context);
    await recordOne(failureOf(id));
    const fields = { url: 'https://other.example', failureThreshold: 3 };
    const updated = await updateMonitor(context, systemActor(context.accountId), id, fields, 'default');
    expect(updated).toMatchObject({ monitor: { status: 'DOWN' }, statusChange: null });
  });

  test('an update that changes nothing keeps the revision', async () => {
    const monitor = await makeMonitor(context, {
      headers: { 'X-Token': 'abc' },
      assertions: { statusCode: 204 },
    });
    const same = { headers: { 'X-Token': 'abc' }, assertions: { statusCode: 204 }, name: monitor.name };
    const updated = await updateMonitor(context, systemActor(context.accountId), monitor.id, same, 'default');
    expect(updated).toMatchObject({ changed: false, regions: ['default'], monitor });
  });
});

test('header values and bodies are sealed at rest and read back as written', async () => {
  const secret = 'Bearer s3cr3t-marker';
  const { id, headers, body } = await makeMonitor(context, {
    method: 'POST',
    headers: { Authorization: secret },
    body: 'marker-body',
  });
  expect({ headers, body }).toEqual({ headers: { Authorization: secret }, body: 'marker-body' });
  const { rows } = await context.db.execute(`select monitors::text as row from monitors where id = '${id}'`);
  expect(String(rows[0]?.['row'])).not.toMatch(/s3cr3t-marker|marker-body/);
});

test('a triggered check is recorded once, even if it is repeated after a lost response to its commit', async () => {
  const { id } = await makeMonitor(context, { failureThreshold: 2 });
  await recordOne(checkOf(id));
  const row = await findMonitorRow(context.db, context.accountId, id);
  const trigger = await createTrigger(context.db, row, null, 5_000);
  const check = failureOf(id, { source: 'trigger', slot: null, triggerId: trigger.id });
  const outcome = await recordOne(check);
  expect(outcome).toMatchObject({ kind: 'recorded' });
  expect(await recordOne(check)).toEqual({ kind: 'duplicate', unconfirmed: true });
  expect(await statusOf(id)).toBe('UP');
  expect((await findTriggerEvent(context.db, trigger.id))?.getTime()).toBe(
    outcome.kind === 'recorded' ? outcome.timestamp : null,
  );
});

test('creating partitions and recording checks do not wait for readers of events', async () => {
  const { id } = await makeMonitor(context);
  const { rows } = await context.db.execute<{ name: string }>(
    sql`select max(c.relname) as name from pg_inherits i join pg_class c on c.oid = i.inhrelid
      where i.inhparent = 'events'::regclass`,
  );
  const last = rows[0]?.name ?? '';
  await context.db.execute(sql.raw(`drop table ${last}`));
  await context.db.transaction(async (reader) => {
    await reader.execute(sql`select count(*) from events`);
    await ensureEventPartitions(context.db);
    expect(await recordOne(checkOf(id))).toMatchObject({ kind: 'recorded' });
  });
  const after = await context.db.execute(sql`select to_regclass(${last}) is not null as made`);
  expect(after.rows[0]).toEqual({ made: true });
});
