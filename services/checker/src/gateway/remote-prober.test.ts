import { randomUUID } from 'node:crypto';
import { afterAll, afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { slotOffsetMs, waveId, waveOf } from '@tocsin/core/schedule/slots';
import type { CheckRecord } from '@tocsin/db/checks/check-record';
import { recordChecks } from '@tocsin/db/checks/record-checks';
import { HttpTarget } from '@tocsin/embedded/local-web/http-target';
import { until } from '@tocsin/embedded/testing/until';
import { Prober, ProbeThrottledError } from '@tocsin/probe/probe';
import { loopbackEgress } from '@tocsin/probe/testing/local-targets';
import { JobReturnedError } from '@tocsin/queue/job-worker';
import type { CheckIdentity } from '../checks/check-prober.ts';
import { type CheckContext, runCheck } from '../checks/run-check.ts';
import { ScheduledChecks } from '../checks/scheduled-check.ts';
import { createResponseSealer } from '../record/seal-response.ts';
import { REFUSED, type TestAgent } from '../testing/test-agent.ts';
import { checkContext, openCheckerDatabase, REGION } from '../testing/test-checker.ts';
import { createToken, TestGateway } from '../testing/test-gateway.ts';

const INTERVAL_MS = 60_000;
const database = await openCheckerDatabase();
const target = await HttpTarget.start();
afterAll(async () => {
  await target.stop();
  await database.close();
});

const sealResponse = createResponseSealer(database.secrets);
const record = (batch: readonly CheckRecord[]): ReturnType<typeof recordChecks> =>
  recordChecks(database.db, batch, { sealResponse });

let system: TestGateway;
let context: CheckContext;
let agent: TestAgent;
beforeEach(async () => {
  target.status = 200;
  system = await TestGateway.start(database, { record });
  agent = await system.connect();
  context = await system.contextOf();
});
afterEach(async () => {
  await system.gateway.stop();
  await database.query('truncate monitors, events, agent_regions cascade');
});

const addMonitor = (fields: object = {}): Promise<string> =>
  database.addMonitor({ url: target.url('/'), ...fields });

const latestSlot = (monitorId: string): number => {
  const now = Date.now();
  return now - ((now - slotOffsetMs(monitorId, INTERVAL_MS)) % INTERVAL_MS);
};

/** Runs the planned check of a monitor, as its job does. */
function runJob(monitorId: string, checks: CheckContext = context): Promise<void> {
  const { capacity, overlapGuard, logger } = checkContext(database);
  const scheduled = new ScheduledChecks({ ...checks, region: REGION, capacity, overlapGuard, logger });
  const jobId = `repeat:${waveId(waveOf(monitorId, 60))}:${latestSlot(monitorId)}`;
  return scheduled.run({ monitorId, revision: 1 }, jobId, 60);
}

/** Decrypts a kept response without the header that changes every second. */
function openResponse(sealed: string): unknown {
  const response = JSON.parse(database.secrets.decrypt(sealed)) as { headers: Record<string, string> };
  const { date, ...headers } = response.headers;
  expect(date).toBeDefined();
  return { ...response, headers };
}

const events = (): Promise<Record<string, unknown>[]> =>
  database.query('select status, error_reason, inconclusive, status_code from events order by timestamp');

const UP = { status: 'UP', error_reason: null, inconclusive: false, status_code: 200 };

describe('a check through an agent', () => {
  test.each([
    ['passes', 200, {}],
    ['fails with a response', 503, {}],
    ['fails below HTTP', 200, { url: 'http://127.0.0.1:1/' }],
  ])('that %s records the same event as a local one', async (_, status, fields) => {
    target.status = status;
    agent.work();
    const local = checkContext(database, { record, prober: new Prober({ egress: loopbackEgress() }) });
    const ids = [await addMonitor(fields), await addMonitor(fields)] as const;
    await runJob(ids[0]);
    await runJob(ids[1], local);
    const [remoteEvent, localEvent] = await Promise.all(
      ids.map(async (id) => {
        const [event] = await database.query<Record<string, unknown>>(`
          select e.*, r.certificate_expires_at, m.status as monitor_status from events e
          join monitors m on m.id = e.monitor_id join monitor_regions r on r.monitor_id = m.id
          where m.id = '${id}'`);
        const { id: eventId, monitor_id, timestamp, slot, sealed_response, ...same } = event ?? {};
        const measured = Object.entries(same).map(([name, value]) =>
          name.endsWith('_ms') ? [name, value === null ? null : 'measured'] : [name, value],
        );
        const response = typeof sealed_response === 'string' ? openResponse(sealed_response) : null;
        const isComplete = [eventId, monitor_id, timestamp, slot].every((value) => value !== undefined);
        return { ...Object.fromEntries(measured), response, isComplete };
      }),
    );
    expect(remoteEvent).toEqual(localEvent);
    expect(remoteEvent).toMatchObject({ isComplete: true, region: REGION });
    await until('the result to be confirmed', () => agent.recorded.length === 1);
  });

  test('sends the agent only what the probe needs', async () => {
    const running = runJob(await addMonitor({ headers: { 'X-Key': 'sesame' }, timeout: 5 }));
    const { id, ticket, ...probe } = await agent.firstProbe();
    expect(probe).toEqual({
      url: target.url('/'),
      method: 'GET',
      headers: { 'X-Key': 'sesame' },
      body: null,
      assertions: null,
      timeoutMs: 5_000,
      account: database.accountId,
      resource: expect.any(String),
    });
    agent.respond({ id, ticket, ...probe }, {});
    await running;
    expect(ticket).not.toContain(REGION);
  });

  test('is recorded even if the agent sends values that PostgreSQL refuses', async () => {
    const running = runJob(await addMonitor());
    const refused = { errorDetail: 'no\0route', certificateExpiresAt: 9e15, ownFailure: 'ENEW' };
    agent.respond(await agent.firstProbe(), { ...REFUSED, ...refused });
    await running;
    const [event] = await database.query('select error_detail, inconclusive from events');
    expect(event).toEqual({ error_detail: 'no route', inconclusive: true });
  });

  test('of a monitor of another account does not run in a private region', async () => {
    const [other] = await database.query<{ id: string }>(
      `insert into accounts (id, name, slug) values ('${randomUUID()}', 'Other', 'other') returning id`,
    );
    const token = await createToken(database, 'private', other?.id);
    const spy = await system.connect({}, token);
    const { targets } = await system.contextOf('private');
    const monitorId = await addMonitor();
    expect([await targets.get(monitorId, 1), await targets.latest(monitorId)]).toEqual([null, null]);
    expect(await context.targets.latest(monitorId)).toMatchObject({ monitorId });
    expect(spy.probes).toEqual([]);
  });
});

describe('the agent with the most free credits gets a probe', () => {
  test('and no probe waits for an agent while another one is free', async () => {
    const other = await system.connect({ credits: 2 });
    agent.send({ type: 'credits', credits: 1 });
    await until('the credits', () => system.running.get(REGION)?.concurrency === 3);
    const ids = await Promise.all([1, 2, 3, 4].map(() => addMonitor()));
    const running = ids.map((id) => runJob(id));
    const [first] = await agent.received(1);
    await other.received(2);
    expect([agent.probes.length, other.probes.length]).toEqual([1, 2]);
    // The fourth probe runs at the first agent that has a free credit.
    for (const probe of other.probes.slice(0, 1)) other.respond(probe, {});
    await other.received(3);
    if (first) agent.respond(first, {});
    for (const probe of other.probes.slice(1)) other.respond(probe, {});
    await Promise.all(running);
    expect(await events()).toHaveLength(4);
  });

  test('even if another agent has more running probes than credits', async () => {
    const running = [runJob(await addMonitor()), runJob(await addMonitor())];
    await agent.received(2);
    agent.send({ type: 'credits', credits: 0 });
    await until('the credits', () => !system.running.has(REGION));
    const other = await system.connect({ credits: 1 });
    const more = runJob(await addMonitor());
    other.respond(await other.firstProbe(), {});
    await more;
    for (const probe of agent.probes) agent.respond(probe, {});
    await Promise.all(running);
  });

  test('and the probes of an account with hanging targets make room for another account', async () => {
    const hanging = Array.from({ length: 10 }, (_, index) => probeFor('hanging', index));
    const throttled = Promise.allSettled(hanging);
    await agent.received(10);
    const probing = probeFor('other', 0);
    const probe = await until('the probe of the other account', () =>
      agent.probes.find(({ account }) => account === 'other'),
    );
    expect(agent.canceled).toHaveLength(1);
    agent.respond(probe, {});
    expect(await probing).toMatchObject({ status: 'UP' });
    for (const one of agent.probes) agent.respond(one, {});
    const results = await throttled;
    const [rejected] = results.flatMap((one) => (one.status === 'rejected' ? [one.reason as unknown] : []));
    expect(rejected).toBeInstanceOf(ProbeThrottledError);
  });
});

test('a probe for which the agent lacks capacity is throttled', async () => {
  const running = probeFor('shop', 0);
  const { id } = await agent.firstProbe();
  agent.send({ type: 'dropped', ids: [id] });
  await expect(running).rejects.toThrow(ProbeThrottledError);
});

test('a probe without a check, such as that of a canary, does not wait for all scheduled checks of its account', async () => {
  agent.send({ type: 'credits', credits: 1 });
  await until('the credits', () => system.running.get(REGION)?.concurrency === 1);
  const check = { monitorId: '', accountId: 'shop', revision: 1, region: REGION, slot: 1 };
  const scheduled = { ...check, source: 'schedule', triggerId: null, urlOverride: null } as const;
  const probing = [0, 1, 2].map((index) => probeFor('shop', index, scheduled));
  probing.push(probeFor('shop', 'canary'));
  const order: string[] = [];
  for (let served = 0; served < probing.length; served += 1) {
    const probe = (await agent.received(served + 1))[served];
    if (probe === undefined) throw new Error('no probe');
    order.push(probe.resource);
    agent.respond(probe, {});
  }
  await Promise.all(probing);
  expect(order).toEqual(['0', '1', 'canary', '2']);
});

function probeFor(account: string, resource: number | string, check?: CheckIdentity) {
  const request = { url: target.url('/'), method: 'GET', headers: null, body: null } as const;
  const owner = { account, resource: String(resource) };
  return context.prober.probe({ ...request, assertions: null, timeoutMs: 60_000, owner }, check);
}

test('a probe with fields that an agent would ignore goes to newer agents only, and is otherwise missed', async () => {
  const fields = { followRedirects: false, connectTo: new URL(target.url('/')).host };
  const outdated = await TestGateway.start(database, { record }, { version: '0.1.0' });
  const old = await outdated.connect({ version: '0.0.9' });
  const checks = await outdated.contextOf();
  await runJob(await addMonitor(fields), checks);
  const { values } = await checks.metrics.missed.get();
  expect(values.filter(({ value }) => value > 0)).toMatchObject([{ labels: { reason: 'agent_outdated' } }]);
  const running = [runJob(await addMonitor(), checks), runJob(await addMonitor(fields), checks)];
  await old.received(1);
  old.work();
  const current = await outdated.connect({ version: '0.1.0' });
  current.work();
  await running[0];
  await runJob(await addMonitor(fields), checks);
  await Promise.all(running);
  expect([await events(), old.probes.length]).toEqual([[UP, UP], 1]);
  await outdated.gateway.stop();
});

describe('a probe whose agent disconnects', () => {
  test('runs again at another agent', async () => {
    const running = runJob(await addMonitor());
    await agent.received(1);
    const other = await system.connect({ credits: 1 });
    await agent.vanish();
    other.respond(await other.firstProbe(), {});
    await running;
    expect(await events()).toEqual([UP]);
  });

  test('runs at most twice, and leaves its slot to the results of the lost agents', async () => {
    const [second, third] = [await system.connect({ credits: 1 }), await system.connect({ credits: 1 })];
    const running = runJob(await addMonitor());
    await agent.received(1);
    await agent.vanish();
    await until('the second attempt', () => second.probes.length + third.probes.length === 1);
    const [current, rest] = second.probes.length === 1 ? [second, third] : [third, second];
    await current.vanish();
    await running;
    expect([await events(), rest.probes]).toEqual([[], []]);
    const { values } = await context.metrics.missed.get();
    expect(values.filter(({ value }) => value > 0)).toMatchObject([
      { labels: { reason: 'agent_disconnected' } },
    ]);
  });

  test('returns its job without an event if no agent is left', async () => {
    const [running, waiting] = [runJob(await addMonitor()), runJob(await addMonitor())];
    agent.send({ type: 'credits', credits: 1 });
    await agent.received(1);
    const ended = [running, waiting].map((one) => expect(one).rejects.toThrow(JobReturnedError));
    await agent.vanish();
    await Promise.all(ended);
    expect(await events()).toEqual([]);
  });

  test('is not counted as slow or started while it waits for an agent', async () => {
    agent.send({ type: 'credits', credits: 0 });
    await until('the credits', () => !system.running.has(REGION));
    let begun = 0;
    const check = await context.targets.latest(await addMonitor());
    if (check === null) throw new Error('no monitor');
    const request = {
      region: REGION,
      source: 'schedule',
      slot: 1,
      triggerId: null,
      urlOverride: null,
    } as const;
    const running = runCheck(context, check, request, { onBegin: () => (begun += 1) });
    expect(begun).toBe(0);
    agent.send({ type: 'credits', credits: 1 });
    const probe = await agent.firstProbe();
    expect(begun).toBe(1);
    agent.respond(probe, {});
    await running;
  });
});
