import { beforeEach, describe, expect, test } from '@jest/globals';
import { incidentSchema } from '@tocsin/contracts/incidents/incident';
import { type Timeline, timelineSchema } from '@tocsin/contracts/incidents/timeline';
import { userActor } from '@tocsin/db/audit-log/actor';
import type { CheckRecord } from '@tocsin/db/checks/check-record';
import { recordChecks } from '@tocsin/db/checks/record-checks';
import { purgeDeletedMonitors } from '@tocsin/db/deleted-monitors/purge';
import { recordAttempt } from '@tocsin/db/deliveries/record-attempt';
import { getIncident, listIncidents } from '@tocsin/db/incidents/read-incidents';
import { readTimeline } from '@tocsin/db/incidents/read-timeline';
import {
  acknowledgeIncident,
  type Author,
  createNote,
  unacknowledgeIncident,
} from '@tocsin/db/incidents/write-incidents';
import { deleteMonitor } from '@tocsin/db/monitors/delete-monitors';
import { sql } from 'drizzle-orm';
import { alertOf, attemptOf, changeStatus, claimOne, makeAccount, makeChannel } from './delivery-steps.ts';
import { checkOf, editMonitor, failureOf, makeMonitor, useTestContext } from './harness.ts';

const context = await useTestContext();
const { db, accountId, actor } = context;

const user = (id: string, name: string): Author => ({
  ...userActor(accountId, id, name),
  id,
  role: 'member',
});
const ada = user('019a9f19-7283-7495-86a7-b8c9daebfc0d', 'Ada');
const bob = user('019a9f19-7283-7495-86a7-b8c9daebfc0e', 'Bob');

beforeEach(async () => {
  await db.execute(sql`truncate monitors, incidents, channels, status_changes, events, audit_log cascade`);
});

describe('incidents', () => {
  // Without a channel, no status change would have due deliveries.
  beforeEach(() => makeChannel(context));

  test('are listed newest first, and filtered by state and by monitor', async () => {
    const past = (await makeMonitor(context, { name: 'Past' })).id;
    const now = (await makeMonitor(context, { name: 'Now' })).id;
    await changeStatus(context, past, 'DOWN');
    await changeStatus(context, past, 'UP');
    await changeStatus(context, now, 'DOWN');
    await db.execute(sql`
      update incidents set opened_at = opened_at - interval '1 hour', resolved_at = resolved_at - interval '10 min'
      where monitor_id = ${past}`);
    await db.execute(sql`
      update incidents set opened_at = opened_at - interval '90 s' where monitor_id = ${now}`);
    const all = await listIncidents(db, accountId, { limit: 10 });
    expect(all.map((incident) => incidentSchema.parse(incident))).toMatchObject([
      { monitorName: 'Now', resolvedAt: null, cause: 'HTTP_500', region: 'default' },
      { monitorName: 'Past', resolvedAt: expect.any(String) },
    ]);
    const [open, resolved] = all;
    expect(open?.durationSeconds).toBeGreaterThanOrEqual(90);
    expect((resolved?.durationSeconds ?? 0) / 60).toBeCloseTo(50, 0);
    const list = async (query: object): Promise<unknown[]> =>
      (await listIncidents(db, accountId, { limit: 10, ...query })).map(({ id }) => id);
    expect(await list({ state: 'open' })).toEqual([open?.id]);
    expect(await list({ state: 'resolved' })).toEqual([resolved?.id]);
    expect(await list({ monitorId: past })).toEqual([resolved?.id]);
    expect(await list({ before: open?.id })).toEqual([resolved?.id]);
    expect(await list({ limit: 1 })).toEqual([open?.id]);
    expect(await getIncident(db, accountId, resolved?.id ?? '')).toEqual(resolved);
  });

  test('of another account are not found', async () => {
    const { id } = await makeMonitor(context);
    await changeStatus(context, id, 'DOWN');
    const [incident] = await listIncidents(db, accountId, { limit: 10 });
    const other = await makeAccount(context);
    expect(await listIncidents(db, other, { limit: 10 })).toEqual([]);
    expect(await listIncidents(db, other, { limit: 10, monitorId: id })).toEqual([]);
    const reading = getIncident(db, other, incident?.id ?? '');
    await expect(reading).rejects.toMatchObject({ code: 'not_found' });
    const wrong = listIncidents(db, other, { limit: 10, before: incident?.id });
    await expect(wrong).rejects.toMatchObject({ code: 'validation_failed' });
  });
});

async function timelineOf(monitorId: string): Promise<Timeline> {
  const [incident] = await listIncidents(db, accountId, { monitorId, limit: 1 });
  const timeline = timelineSchema.parse(await readTimeline(db, accountId, incident?.id ?? ''));
  const times = timeline.entries.map(({ timestamp }) => Date.parse(timestamp));
  expect(times).toEqual(times.toSorted((one, other) => one - other));
  return timeline;
}

function inWords({ entries }: Timeline): string[] {
  return entries.map((entry) => {
    if (entry.kind === 'check') {
      const { region, status, statusCode } = entry.check;
      return `${region} ${status} ${statusCode ?? ''}`.trim();
    }
    if (entry.kind === 'status-change') return entry.statusChange.status;
    if (entry.kind === 'delivery') return `${entry.delivery.event} ${entry.delivery.state}`;
    if (entry.kind === 'configuration') return entry.change.action;
    return entry.kind;
  });
}

async function record(...checks: CheckRecord[]): Promise<void> {
  for (const check of checks) await recordChecks(db, [check]);
}

test('a timeline shows an incident from the last passing check before it to the first one after it', async () => {
  await makeChannel(context);
  const { id } = await makeMonitor(context, { failureThreshold: 2 });
  await editMonitor(context, id, { interval: 30 });
  await record(checkOf(id), checkOf(id), failureOf(id));
  const [first = ''] = await alertOf(context, id, 'DOWN');
  const [incident] = await listIncidents(db, accountId, { limit: 1 });
  await acknowledgeIncident(db, ada, incident?.id ?? '');
  await createNote(db, ada, incident?.id ?? '', 'The disk is full');
  const unavailable = { statusCode: 503, errorReason: 'HTTP_503' } as const;
  await record(failureOf(id), failureOf(id, unavailable), failureOf(id, unavailable), failureOf(id));
  const claimed = await claimOne(context);
  expect(claimed.id).toBe(first);
  await recordAttempt(db, attemptOf(claimed, { kind: 'retry', delayMs: 60_000 }));
  await alertOf(context, id, 'UP');
  await record(checkOf(id), checkOf(id));
  const timeline = await timelineOf(id);
  expect(inWords(timeline)).toEqual([
    'monitor.created',
    'monitor.updated',
    'default UP 200',
    'default DOWN 500',
    'default DOWN 500',
    'opened',
    'monitor.down pending',
    'incident.created pending',
    'acknowledged',
    'note',
    'default DOWN 503',
    'default DOWN 500',
    'default UP 200',
    'resolved',
    'monitor.up pending',
    'incident.resolved pending',
  ]);
  expect(timeline.complete).toBe(true);
  const delivery = timeline.entries.find((entry) => entry.kind === 'delivery')?.delivery;
  expect(delivery).toMatchObject({
    channel: { name: 'ops' },
    attemptCount: 1,
    statusCode: 500,
    error: 'responded with 500',
  });
});

test('every user who acknowledged an incident stays in its timeline', async () => {
  const { id } = await makeMonitor(context);
  await record(failureOf(id));
  const [incident] = await listIncidents(db, accountId, { limit: 1 });
  const incidentId = incident?.id ?? '';
  await acknowledgeIncident(db, ada, incidentId);
  await acknowledgeIncident(db, ada, incidentId);
  await unacknowledgeIncident(db, bob, incidentId);
  await unacknowledgeIncident(db, bob, incidentId);
  await acknowledgeIncident(db, bob, incidentId);
  const { entries } = await timelineOf(id);
  expect(entries.flatMap((entry) => ('by' in entry ? [[entry.kind, entry.by]] : []))).toEqual([
    ['acknowledged', { id: ada.id, name: 'Ada' }],
    ['acknowledgement-removed', { id: bob.id, name: 'Bob' }],
    ['acknowledged', { id: bob.id, name: 'Bob' }],
  ]);
});

test('each region has its own checks, and a region that never failed has none', async () => {
  const { id } = await makeMonitor(context, { regions: ['a', 'b', 'c'] });
  const pass = (region: string) => checkOf(id, { region });
  const fail = (region: string) => failureOf(id, { region });
  await record(pass('a'), pass('b'), pass('c'), fail('a'), fail('b'), pass('c'));
  // This check has another URL than the monitor.
  await record(checkOf(id, { region: 'a', slot: null, source: 'trigger', urlOverride: 'https://a.example' }));
  await record(fail('a'), pass('b'), pass('a'), pass('a'));
  expect(inWords(await timelineOf(id)).filter((words) => / (UP|DOWN)/.test(words))).toEqual([
    'a UP 200',
    'b UP 200',
    'a DOWN 500',
    'b DOWN 500',
    'b UP 200',
    'a UP 200',
  ]);
});

test('of inconclusive checks in a row, only the first one is shown', async () => {
  const { id } = await makeMonitor(context, { failureThreshold: 2 });
  await record(checkOf(id), failureOf(id), failureOf(id));
  await db.execute(sql`update events set timestamp = timestamp - interval '1 s' where status = 'UP'`);
  await db.execute(sql`
    insert into events (monitor_id, timestamp, id, status, latency_ms, error_reason, inconclusive, region, source)
    select ${id}, min(e.timestamp) + n * interval '1 ms', gen_random_uuid(), 'DOWN', 0, 'DNS_ERROR', true,
      'default', 'schedule'
    from events e, generate_series(1, 3) as n where e.monitor_id = ${id} and e.status = 'UP' group by n`);
  const { entries } = await timelineOf(id);
  const checks = entries.flatMap((entry) => (entry.kind === 'check' ? [entry.check] : []));
  expect(checks.map(({ status, inconclusive }) => [status, inconclusive])).toEqual([
    ['UP', false],
    ['DOWN', true],
    ['DOWN', false],
    ['DOWN', false],
  ]);
});

describe('a bounded timeline', () => {
  /** Adds checks of the current incident, one per millisecond, whose result changes with each check or never. */
  async function addChecks(monitorId: string, count: number, statusCode: string): Promise<void> {
    await db.execute(sql`
      insert into events (monitor_id, timestamp, id, status, latency_ms, status_code, region, source)
      select ${monitorId}, i.opened_at + n * interval '1 ms', gen_random_uuid(), 'DOWN', 1,
        ${sql.raw(statusCode)}, 'default', 'schedule'
      from incidents i, generate_series(1, ${count}::int) as n where i.monitor_id = ${monitorId}`);
    await db.execute(sql`
      update incidents set resolved_at = opened_at + interval '1 hour' where monitor_id = ${monitorId}`);
  }

  test.each([
    ['shows the beginning and the end of many changes', 1_000, '500 + n % 2', 91, false],
    // The rows have no error reason, so the second check differs from the first one.
    ['is complete if nothing changes in many checks', 5_400, '500', 2, true],
    [
      'is not complete if checks in the middle were not compared',
      5_600,
      'case when n between 5050 and 5060 then 503 else 500 end',
      2,
      false,
    ],
  ])('%s', async (_, count, statusCode, shown, isComplete) => {
    const { id } = await makeMonitor(context);
    await record(failureOf(id));
    await addChecks(id, count, statusCode);
    const { entries, complete } = await timelineOf(id);
    expect([entries.filter(({ kind }) => kind === 'check').length, complete]).toEqual([shown, isComplete]);
  });
});

test('only maintenance of the monitor during the incident is shown', async () => {
  const [{ id }, other] = [await makeMonitor(context), await makeMonitor(context)];
  await record(failureOf(id), failureOf(other.id));
  const makeWindow = (name: string, monitorId: string, startsAt: string, endsAt: string) =>
    db.execute(sql`
      with w as (
        insert into maintenance_windows (id, account_id, name, starts_at, ends_at, state)
        values (gen_random_uuid(), ${accountId}, ${name}, now(), now(), 'ended') returning id
      ), assigned as (
        insert into maintenance_window_monitors (window_id, monitor_id) select id, ${monitorId} from w
      )
      insert into maintenance_occurrences (window_id, starts_at, ends_at, outcome)
      select w.id, i.opened_at + ${startsAt}::interval, i.opened_at + ${endsAt}::interval, 'completed'
      from w, incidents i where i.monitor_id = ${monitorId}`);
  await makeWindow('Covers', id, '-1 hour', '1 hour');
  await makeWindow('Of another monitor', other.id, '-1 hour', '1 hour');
  await makeWindow('Over', id, '-2 hours', '-1 hour');
  const { entries } = await timelineOf(id);
  const names = entries.map((entry) => (entry.kind === 'maintenance' ? entry.maintenance.name : null));
  expect(names.filter((name) => name !== null)).toEqual(['Covers']);
});

test('reading a timeline ends when the client has left', async () => {
  const { id } = await makeMonitor(context);
  await record(failureOf(id));
  const [incident] = await listIncidents(db, accountId, { monitorId: id, limit: 1 });
  expect(await readTimeline(db, accountId, incident?.id ?? '', () => false)).toBeNull();
});

test('notes are deleted with their monitor', async () => {
  const { id } = await makeMonitor(context);
  await record(failureOf(id));
  const [incident] = await listIncidents(db, accountId, { limit: 1 });
  await createNote(db, ada, incident?.id ?? '', 'Gone soon');
  await deleteMonitor(db, actor, id);
  await expect(readTimeline(db, accountId, incident?.id ?? '')).rejects.toThrow('no incident');
  await purgeDeletedMonitors(db);
  const { rows } = await db.execute(sql`select from incident_notes`);
  expect(rows).toEqual([]);
});
