import { describe, expect, test } from '@jest/globals';
import { webhookPayloadSchema } from '@tocsin/contracts/deliveries/webhook';
import { createChannel } from '@tocsin/db/channels/write-channels';
import type { CheckOutcome, CheckRecord } from '@tocsin/db/checks/check-record';
import { recordChecks } from '@tocsin/db/checks/record-checks';
import { isRefusal, isTemporary, isTimeout } from '@tocsin/db/database/errors';
import { inOneRoundTrip } from '@tocsin/db/database/sql';
import { ensureEventPartitions } from '@tocsin/db/events/partitions';
import { listEvents } from '@tocsin/db/events/read-events';
import { incidents } from '@tocsin/db/incidents/table';
import { monitorRegions } from '@tocsin/db/monitor-regions/table';
import { findMonitorRow } from '@tocsin/db/monitors/monitor-row';
import { getMonitor } from '@tocsin/db/monitors/read-monitors';
import { statusChanges } from '@tocsin/db/status-changes/table';
import { createTrigger, findTriggerEvent } from '@tocsin/db/triggers/triggers';
import { and, asc, eq, isNull, sql } from 'drizzle-orm';
import { checkOf, editMonitor, failureOf, makeMonitor, useTestContext } from './harness.ts';

const context = await useTestContext();
const { db, accountId, actor } = context;

async function recordOne(check: CheckRecord): Promise<CheckOutcome> {
  const [outcome] = await recordChecks(db, [check]);
  if (!outcome) throw new Error('no outcome');
  return outcome;
}

async function kindsOf(...checks: CheckRecord[]): Promise<string[]> {
  return (await recordChecks(db, checks)).map(({ kind }) => kind);
}

async function statusOf(id: string): Promise<string> {
  return (await getMonitor(context, context.viewer, id)).monitor.status;
}

async function changesOf(monitorId: string): Promise<(typeof statusChanges.$inferSelect)[]> {
  return db
    .select()
    .from(statusChanges)
    .where(eq(statusChanges.monitorId, monitorId))
    .orderBy(asc(statusChanges.timestamp));
}

const eventsOf = (id: string) => listEvents(db, accountId, id, { limit: 100 });

describe('a recorded result', () => {
  test('becomes an event with everything that the check found', async () => {
    const { id, name, runbookUrl } = await makeMonitor(context);
    expect(await recordOne(failureOf(id))).toMatchObject({ kind: 'recorded', outdated: false });
    expect(await eventsOf(id)).toEqual([
      {
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
      },
    ]);
  });

  test('ends PENDING; DOWN and recovery create an incident and four payloads', async () => {
    const monitor = await makeMonitor(context);
    await createChannel(context, actor, {
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
    expect(changes).toMatchObject([
      { fromStatus: 'PENDING', toStatus: 'UP', webhookEvents: [], dispatchedAt: expect.any(Date) },
      { fromStatus: 'UP', toStatus: 'DOWN' },
      { fromStatus: 'DOWN', toStatus: 'UP' },
    ]);
    expect(wentDown).toMatchObject({ statusChangeId: changes[1]?.id });
    expect(cameUp).toMatchObject({ statusChangeId: changes[2]?.id });

    const payloads = changes.flatMap((change) =>
      change.webhookEvents.map(({ payload }) => webhookPayloadSchema.parse(JSON.parse(payload))),
    );
    const down = {
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
    };
    const up = { ...down, status: 'UP', previousStatus: 'DOWN', latency: 12, errorReason: null };
    expect(payloads).toEqual([
      down,
      { ...down, event: 'incident.created' },
      { ...up, event: 'monitor.up' },
      { ...up, event: 'incident.resolved' },
    ]);
    const timestamps = payloads.map((payload) => payload.timestamp);
    expect(timestamps).toEqual([...new Set(timestamps)].toSorted());

    expect(await db.select().from(incidents).where(eq(incidents.monitorId, monitor.id))).toMatchObject([
      {
        cause: 'HTTP_500',
        region: 'default',
        openedAt: changes[1]?.timestamp,
        resolvedAt: changes[2]?.timestamp,
      },
    ]);
  });

  test('of an older revision counts if only the name has changed, but is outdated if the probe has', async () => {
    const { id } = await makeMonitor(context, { failureThreshold: 2 });
    await recordOne(checkOf(id));
    await editMonitor(context, id, { name: 'Renamed' });
    await recordOne(failureOf(id));
    await editMonitor(context, id, { url: 'https://new.example' });
    const [before] = await db.select().from(monitorRegions).where(eq(monitorRegions.monitorId, id));
    expect(await recordOne(failureOf(id))).toMatchObject({ kind: 'recorded', outdated: true });
    const [after] = await db.select().from(monitorRegions).where(eq(monitorRegions.monitorId, id));
    expect(after?.consecutiveFailures).toBe(before?.consecutiveFailures);
    expect(await statusOf(id)).toBe('UP');
    for (let count = 0; count < 2; count += 1) await recordOne(failureOf(id, { revision: 3 }));
    expect(await statusOf(id)).toBe('DOWN');
  });

  test('of a monitor whose clock is far ahead gets the current time, and counts', async () => {
    const { id } = await makeMonitor(context);
    await db.execute(sql`update monitors set last_timestamp = now() + interval '60 days' where id = ${id}`);
    expect(await kindsOf(failureOf(id))).toEqual(['recorded']);
    expect(await statusOf(id)).toBe('DOWN');
    const [change] = await changesOf(id);
    expect(change?.timestamp.getTime()).toBeLessThan(Date.now() + 3_600_000);
  });

  test('of a check with a URL override is only an event', async () => {
    const { id } = await makeMonitor(context);
    const override = { source: 'trigger', slot: null, urlOverride: 'https://preview.example' } as const;
    await recordOne(failureOf(id, override));
    const { monitor, events } = await getMonitor(context, context.viewer, id);
    expect(monitor).toMatchObject({ status: 'PENDING', lastCheckedAt: null });
    expect(events[0]).toMatchObject({ source: 'trigger', url: 'https://preview.example', status: 'DOWN' });
  });
});

describe('a repeated result', () => {
  let slots = 0;
  /** Makes a result for a recent slot, which differs each time. */
  function lateCheck(monitorId: string, region = 'eu'): CheckRecord {
    slots += 1;
    return checkOf(monitorId, { region, slot: Date.now() - 60_000 + slots });
  }

  test('of a recorded slot is dropped', async () => {
    const { id } = await makeMonitor(context);
    const check = failureOf(id);
    expect(await recordOne(check)).toMatchObject({ kind: 'recorded' });
    const again = await recordOne({ ...check, status: 'UP', errorReason: null });
    expect(again).toEqual({ kind: 'duplicate', needsRetry: false });
    expect(await eventsOf(id)).toHaveLength(1);
  });

  test('of a triggered check is dropped, as after a lost response to its commit', async () => {
    const { id } = await makeMonitor(context, { failureThreshold: 2 });
    await recordOne(checkOf(id));
    const trigger = await createTrigger(db, await findMonitorRow(db, accountId, id), null, 5_000);
    const check = failureOf(id, { source: 'trigger', slot: null, triggerId: trigger.id });
    const outcome = await recordOne(check);
    expect(outcome).toMatchObject({ kind: 'recorded', needsRetry: true });
    expect(await recordOne(check)).toEqual({ kind: 'duplicate', needsRetry: true });
    expect(await statusOf(id)).toBe('UP');
    expect((await findTriggerEvent(db, trigger.id))?.getTime()).toBe(
      outcome.kind === 'recorded' ? outcome.timestamp : null,
    );
  });

  test('that was recorded before its region was removed is dropped, even if the region is added again', async () => {
    const { id } = await makeMonitor(context, { regions: ['eu', 'us'] });
    const check = lateCheck(id);
    await kindsOf(check);
    for (const regions of [['us'], ['us', 'eu']]) {
      await editMonitor(context, id, { regions });
      expect(await kindsOf({ ...check })).toEqual(['duplicate']);
    }
    expect(await eventsOf(id)).toHaveLength(1);
  });

  test('of a removed region is recorded once, and does not prevent results of other slots, regions or monitors', async () => {
    const { id } = await makeMonitor(context, { regions: ['us'] });
    const other = await makeMonitor(context, { regions: ['us'] });
    const late = lateCheck(id);
    expect(await kindsOf(late)).toEqual(['recorded']);
    expect(await kindsOf({ ...late, monitorId: other.id }, { ...late })).toEqual(['recorded', 'duplicate']);
    expect(await kindsOf({ ...late, region: 'ap' })).toEqual(['recorded']);
    expect(await kindsOf(lateCheck(id))).toEqual(['recorded']);
  });
});

describe('several recorders', () => {
  test('the second of two results for the same monitor in a batch is busy', async () => {
    const { id } = await makeMonitor(context);
    expect(await kindsOf(failureOf(id), checkOf(id))).toEqual(['recorded', 'busy']);
  });

  test('a locked monitor is busy and does not delay others', async () => {
    const [held, free] = [await makeMonitor(context), await makeMonitor(context)];
    await db.transaction(async (tx) => {
      await tx.execute(sql`select 1 from monitors where id = ${held.id} for update`);
      expect(await kindsOf(checkOf(held.id), checkOf(free.id))).toEqual(['busy', 'recorded']);
    });
    expect(await kindsOf(checkOf(held.id))).toEqual(['recorded']);
  });

  test('timestamps are strictly increasing, and there is at most one open incident', async () => {
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
    const timestamps = (await eventsOf(id)).map((event) => event.timestamp);
    expect(timestamps).toEqual([...new Set(timestamps)].toSorted());
    const stamps = (await changesOf(id)).flatMap((change) =>
      change.webhookEvents.map(({ payload }) => webhookPayloadSchema.parse(JSON.parse(payload)).timestamp),
    );
    const all = [...timestamps, ...stamps];
    expect(new Set(all).size).toBe(all.length);
    const open = and(eq(incidents.monitorId, id), isNull(incidents.resolvedAt));
    expect(await db.$count(incidents, open)).toBeLessThanOrEqual(1);
  });

  test('creating partitions and recording checks do not wait for readers of events', async () => {
    const { id } = await makeMonitor(context);
    const { rows } = await db.execute<{ name: string }>(sql`
      select max(c.relname) as name from pg_inherits i join pg_class c on c.oid = i.inhrelid
      where i.inhparent = 'events'::regclass`);
    const last = rows[0]?.name ?? '';
    await db.execute(sql`drop table ${sql.identifier(last)}`);
    await db.transaction(async (reader) => {
      await reader.execute(sql`select count(*) from events`);
      await ensureEventPartitions(db);
      expect(await kindsOf(checkOf(id))).toEqual(['recorded']);
    });
    const after = await db.execute(sql`select to_regclass(${last}) is not null as made`);
    expect(after.rows).toEqual([{ made: true }]);
  });
});

describe('statements', () => {
  test('have a time limit that ends with the transaction', async () => {
    const { id } = await makeMonitor(context);
    await db.transaction(async (tx) => {
      await tx.execute(sql`lock table events in access exclusive mode`);
      const recording = recordChecks(db, [checkOf(id)], { statementTimeoutMs: 50 });
      const error: unknown = await recording.catch((reason: unknown) => reason);
      expect([isTimeout(error), isTemporary(error), isRefusal(error)]).toEqual([true, true, true]);
    });
    const limit = sql`show statement_timeout`;
    await db.transaction(async (tx) => {
      await recordChecks(tx, [checkOf(id)], { statementTimeoutMs: 50_000 });
      expect((await tx.execute(limit)).rows).toEqual([{ statement_timeout: '50s' }]);
    });
    expect((await db.execute(limit)).rows).toEqual([{ statement_timeout: '2min' }]);
  });

  test('that are sent together all end before the error of the first one is thrown', async () => {
    let respond: (() => void) | undefined;
    let ended = false;
    const slow = new Promise<void>((resolve) => (respond = resolve)).then(() => (ended = true));
    const all = inOneRoundTrip(
      slow,
      Promise.reject(new Error('refused')),
      Promise.reject(new Error('aborted')),
    );
    setImmediate(() => respond?.());
    await expect(all).rejects.toThrow('refused');
    expect(ended).toBe(true);
  });
});
