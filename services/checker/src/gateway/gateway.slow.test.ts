import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { AGENT_CLOSE } from '@tocsin/contracts/agents/protocol';
import { HttpTarget } from '@tocsin/embedded/local-web/http-target';
import { createTestRedis } from '@tocsin/embedded/testing/redis';
import { until } from '@tocsin/embedded/testing/until';
import { openQueueStore } from '@tocsin/queue/open-queue-store';
import { Producers } from '@tocsin/queue/producers';
import { TestAgent } from '../testing/test-agent.ts';
import { type CheckerDatabase, openCheckerDatabase, REGION } from '../testing/test-checker.ts';
import { createToken } from '../testing/test-gateway.ts';

/** The built service. `npm test` builds first. */
const MAIN = fileURLToPath(new URL('../../dist/main.js', import.meta.url));

/** Gateways serve newer agents of any version. */
const NEWER = { version: '1000.0.0' };

let database: CheckerDatabase;
let target: HttpTarget;
let redisUrl: string;
let gateways: ChildProcess[];
beforeEach(async () => {
  database = await openCheckerDatabase();
  target = await HttpTarget.start();
  redisUrl = (await createTestRedis()).url;
  gateways = [];
});
afterEach(async () => {
  for (const gateway of gateways) gateway.kill('SIGKILL');
  await target.stop();
  await database.close();
});

async function startGateway(): Promise<{ gateway: ChildProcess; agentPort: number; healthPort: number }> {
  const gateway = spawn(process.execPath, [MAIN], {
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    env: {
      PATH: process.env['PATH'],
      DATABASE_URL: database.url,
      QUEUE_URL: redisUrl,
      SECRETS_KEY: database.secretsKey,
      AGENT_PORT: '0',
      HEALTH_PORT: '0',
      LOG_LEVEL: 'error',
    },
  });
  gateways.push(gateway);
  const [ready] = (await once(gateway, 'message')) as [
    { agentPort: number; healthPort: number; regions: [] },
  ];
  expect(ready.regions).toEqual([]);
  return { gateway, ...ready };
}

test('gateways take the jobs of a region where its agent is connected, and return them when one is killed or stops', async () => {
  const token = await createToken(database);
  const [first, second] = [await startGateway(), await startGateway()];
  const health = await fetch(`http://127.0.0.1:${first.healthPort}/readyz`);
  expect(await health.json()).toEqual({ status: 'ok' });
  const store = openQueueStore(redisUrl, () => undefined);
  const producers = new Producers(store);
  const check = async (index: number): Promise<void> => {
    const monitorId = await database.addMonitor({ url: target.url(`/${index}`) });
    await producers.addExtraChecks(REGION, 'recheck', [{ monitorId, revision: 1, slot: Date.now() }]);
  };
  const checked = (count: number): Promise<unknown> =>
    until(`${count} events`, async () => (await database.query('select from events')).length === count);

  await check(1);
  const agent = await TestAgent.connect(first.agentPort, token, NEWER);
  agent.work();
  await checked(1);
  // The other gateway runs the jobs of the killed one once it has an agent.
  const hanging = await TestAgent.connect(first.agentPort, token, { ...NEWER, credits: 1_000 });
  await check(2);
  await hanging.firstProbe();
  first.gateway.kill('SIGKILL');
  await agent.untilClosed();
  const other = await TestAgent.connect(second.agentPort, token, NEWER);
  other.work();
  await checked(2);
  const exited = once(second.gateway, 'exit');
  second.gateway.kill('SIGTERM');
  expect(await other.untilClosed()).toMatchObject({ code: AGENT_CLOSE.restarting });
  expect((await exited)[0]).toBe(0);
  await producers.close();
  await store.close();
});
