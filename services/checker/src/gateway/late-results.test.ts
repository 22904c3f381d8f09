import { randomUUID } from 'node:crypto';
import { afterAll, afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { AGENT_CLOSE, type AgentProbe } from '@tocsin/contracts/agents/protocol';
import { slotOffsetMs } from '@tocsin/core/schedule/slots';
import { recordChecks } from '@tocsin/db/checks/record-checks';
import { readRevisions } from '@tocsin/db/monitors/check-targets';
import { findMonitorRow } from '@tocsin/db/monitors/monitor-row';
import { createTrigger, findTriggerEvent, takeTrigger } from '@tocsin/db/triggers/triggers';
import { until } from '@tocsin/embedded/testing/until';
import { type CheckRequest, runCheck } from '../checks/run-check.ts';
import { runTriggeredCheck } from '../checks/triggered-check.ts';
import { REFUSED, type TestAgent } from '../testing/test-agent.ts';
import { type ContextChanges, openCheckerDatabase, REGION } from '../testing/test-checker.ts';
import { createToken, TestGateway } from '../testing/test-gateway.ts';
import { sealTicket } from './tickets.ts';

const INTERVAL_MS = 60_000;
const URL = 'http://shop.example/';
const database = await openCheckerDatabase();
afterAll(() => database.close());

let token: string;
let systems: TestGateway[];
let system: TestGateway;
let agent: TestAgent;
let monitorId: string;
let slot: number;
beforeEach(async () => {
  token = await createToken(database);
  systems = [];
  system = await startGateway();
  agent = await system.connect({}, token);
  monitorId = await database.addMonitor({ url: URL });
  const now = Date.now();
  slot = now - ((now - slotOffsetMs(monitorId, INTERVAL_MS)) % INTERVAL_MS);
});
afterEach(async () => {
  await Promise.all(systems.map(({ gateway }) => gateway.stop()));
  await database.query('truncate monitors, events, agent_regions cascade');
});

async function startGateway(changes: ContextChanges = {}): Promise<TestGateway> {
  const started = await TestGateway.start(database, changes);
  systems.push(started);
  return started;
}

async function start(
  changes: Partial<CheckRequest> = {},
): Promise<{ probe: AgentProbe; ended: Promise<unknown> }> {
  const context = await system.contextOf();
  const check = await context.targets.latest(monitorId);
  if (check === null) throw new Error('no monitor');
  const request = { region: REGION, source: 'schedule', slot, triggerId: null, urlOverride: null } as const;
  const before = agent.probes.length;
  const ended = runCheck(context, check, { ...request, ...changes }).catch((error: unknown) => error);
  const probe = (await agent.received(before + 1))[before];
  if (probe === undefined) throw new Error('no probe');
  return { probe, ended };
}

/** Starts a check and cuts the connection before its result arrives. */
async function cut(changes: Partial<CheckRequest> = {}): Promise<AgentProbe> {
  const { probe, ended } = await start(changes);
  await agent.vanish();
  await ended;
  return probe;
}

async function reconnect(to = system): Promise<void> {
  agent = await to.connect({}, token);
}

const confirmed = ({ id }: AgentProbe): Promise<boolean> =>
  until('the result to be confirmed', () => agent.recorded.includes(id));

const events = async (): Promise<string[]> => {
  const rows = await database.query<{ status: string }>('select status from events order by timestamp');
  return rows.map(({ status }) => status);
};
const status = async (): Promise<string | undefined> =>
  (await database.query<{ status: string }>('select status from monitors'))[0]?.status;

describe('a result that an agent kept while it was disconnected', () => {
  test('is recorded once, however often it is sent', async () => {
    const probe = await cut();
    await reconnect();
    for (let sent = 1; sent <= 3; sent += 1) {
      agent.respond(probe, REFUSED);
      await until('a confirmation', () => agent.recorded.length === sent);
    }
    expect([await events(), await status()]).toEqual([['DOWN'], 'DOWN']);
    expect(await system.value('tocsin_agent_results_resent_total')).toEqual({ [REGION]: 3 });
  });

  test('is recorded by another gateway', async () => {
    const probe = await cut();
    await reconnect(await startGateway());
    agent.respond(probe, REFUSED);
    await confirmed(probe);
    expect(await events()).toEqual(['DOWN']);
  });

  test('does not count twice if the check ran again', async () => {
    const probe = await cut();
    await reconnect();
    const again = await start();
    agent.respond(again.probe, {});
    await again.ended;
    agent.respond(probe, REFUSED);
    await confirmed(probe);
    expect([await events(), await status()]).toEqual([['UP'], 'UP']);
  });

  test('changes no status if a newer slot is recorded, even if the region has forgotten its slot', async () => {
    const probe = await cut();
    await reconnect();
    for (let after = 1; after <= 9; after += 1) {
      const { probe: next, ended } = await start({ slot: slot + after * 1_000 });
      agent.respond(next, {});
      await ended;
    }
    for (let sent = 0; sent < 2; sent += 1) agent.respond(probe, REFUSED);
    await until('both to be confirmed', () => agent.recorded.filter((id) => id === probe.id).length === 2);
    expect([(await events()).filter((one) => one === 'DOWN'), await status()]).toEqual([['DOWN'], 'UP']);
  });

  test('of a trigger is its response, and changes no status', async () => {
    const row = await findMonitorRow(database.db, database.accountId, monitorId);
    const { id: triggerId } = await createTrigger(database.db, row, null, 3_600_000);
    const context = {
      ...(await system.contextOf()),
      takeTrigger: (id: string) => takeTrigger(database.db, id),
    };
    const ended = runTriggeredCheck(context, { triggerId }).catch((error: unknown) => error);
    const probe = await agent.firstProbe();
    await agent.vanish();
    await ended;
    await reconnect();
    for (let sent = 0; sent < 2; sent += 1) agent.respond(probe, REFUSED);
    await until('both to be confirmed', () => agent.recorded.length === 2);
    expect(await findTriggerEvent(database.db, triggerId)).toBeInstanceOf(Date);
    expect([await events(), await status()]).toEqual([['DOWN'], 'PENDING']);
  });

  test('of a deleted monitor is refused for good', async () => {
    const probe = await cut();
    await database.query('delete from monitors');
    await reconnect();
    agent.respond(probe, REFUSED);
    await confirmed(probe);
    expect(await events()).toEqual([]);
  });

  test('is confirmed only after PostgreSQL has it', async () => {
    const probe = await cut();
    let isAvailable = false;
    let tries = 0;
    const whenAvailable = async <Result>(work: () => Promise<Result>): Promise<Result> => {
      tries += 1;
      if (!isAvailable) throw new Error('Postgres is unavailable');
      return work();
    };
    const other = await startGateway({
      record: (batch) => whenAvailable(() => recordChecks(database.db, batch)),
    });
    await reconnect(other);
    agent.respond(probe, REFUSED);
    await until('PostgreSQL to be asked', () => tries > 1);
    expect(agent.recorded).toEqual([]);
    isAvailable = true;
    await confirmed(probe);
    expect(await events()).toEqual(['DOWN']);
  });

  test('of a probe that runs again counts once', async () => {
    const { probe, ended } = await start();
    const other = await system.connect({}, token);
    await agent.vanish();
    const second = await other.firstProbe();
    await reconnect();
    agent.respond(probe, {});
    await confirmed(probe);
    other.respond(second, {});
    await ended;
    expect(await events()).toEqual(['UP']);
  });
});

test('the results of agents that were lost during one check are not lost', async () => {
  const { probe, ended } = await start();
  const [second, third] = [await system.connect({}, token), await system.connect({ credits: 1 }, token)];
  await agent.vanish();
  await second.firstProbe();
  await second.vanish();
  await ended;
  third.respond(probe, REFUSED);
  await until('the result to be confirmed', () => third.recorded.includes(probe.id));
  expect([await events(), await status()]).toEqual([['DOWN'], 'DOWN']);
});

describe('a result with a ticket', () => {
  const seal = (changes: object = {}): string => {
    const identity = { monitorId, accountId: database.accountId, revision: 1, region: REGION } as const;
    const check = { ...identity, source: 'schedule', slot, triggerId: null, urlOverride: null } as const;
    return sealTicket(database.secrets, { ...check, issuedAt: Date.now(), ...changes });
  };
  const send = (ticket: string): void =>
    agent.send({ type: 'results', results: [{ ...REFUSED, id: 'unknown', ticket }] });

  test.each([
    ['that is forged', () => 'v1.00000000.AAAA'],
    ['that is another secret of the same key', () => database.secrets.encrypt('sesame')],
    ['that was changed', () => `${seal().slice(0, -8)}AAAAAAA=`],
    ['of another region', () => seal({ region: 'elsewhere' })],
  ])('%s is refused, and closes the connection', async (_, ticketOf) => {
    send(ticketOf());
    expect(await agent.untilClosed()).toMatchObject({ code: AGENT_CLOSE.protocolError });
    // The agent must not send the result again on its next connection.
    expect([agent.recorded, await events()]).toEqual([['unknown'], []]);
  });

  test('that is older than 15 minutes is confirmed but not recorded', async () => {
    send(seal({ issuedAt: Date.now() - 15 * 60_000 - 1 }));
    await until('the confirmation', () => agent.recorded.length === 1);
    expect([agent.closed, await events()]).toEqual([null, []]);
  });

  test('of a flood is handled together with at most 99 others', async () => {
    let most = 0;
    const other = await startGateway({
      readRevisions: (ids) => {
        most = Math.max(most, ids.length);
        return readRevisions(database.db, ids);
      },
    });
    await reconnect(other);
    const results = Array.from({ length: 400 }, (_, index) => ({
      ...REFUSED,
      id: `result-${index}`,
      ticket: seal({ monitorId: randomUUID() }),
    }));
    agent.send({ type: 'results', results });
    await until('all to be confirmed', () => agent.recorded.length === 400);
    expect(most).toBe(100);
  });
});
