import { readFile } from 'node:fs/promises';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from '@jest/globals';
import { until } from '@tocsin/embedded/testing/until';
import { openAccount, type Account } from '@tocsin/campaigns/fuzz/account';
import { openSystem, residentMb, type FuzzSystem } from '@tocsin/campaigns/fuzz/fuzz-system';
import { Attackers, countConnections, createLongList, describeOnLinux, useApi } from './hostile-client.ts';

/*
 * Measures the memory of an api while many clients attack it at once. The results depend on the load of the machine, so these tests are not
 * part of `npm test`.
 */
const MAX_MB = 150;
const MAX_MB_WITH_IDLE = 300;
const IDLE_CONNECTIONS = 10_000;
const OPEN_IDLE_WITHIN_MS = 30_000;

let system: FuzzSystem;
let account: Account;
let beforeMb: number;
let attackers: Attackers;
beforeAll(async () => {
  system = await openSystem({ API_REQUEST_TIMEOUT_SECONDS: '300' });
  account = await openAccount(system);
  await useApi(system.api.port, account);
});
afterAll(() => system.close());
beforeEach(async () => {
  attackers = new Attackers(system.api.port, account);
  beforeMb = await residentMb(system.api.pid);
});
afterEach(() => attackers.close());

/** Requires that another client is served ten times in a row, and that memory is within its limit. */
async function expectStable(maxMb = MAX_MB): Promise<void> {
  for (let times = 0; times < 10; times += 1) {
    await useApi(system.api.port, account);
    expect((await residentMb(system.api.pid)) - beforeMb).toBeLessThan(maxMb);
  }
}

describeOnLinux('memory is bounded while clients', () => {
  test('send endless bodies as fast as possible', async () => {
    await attackers.sendEndlessBodies(2);
    await expectStable();
  });

  test('send floods of header lines, requests and garbage', async () => {
    await attackers.sendFloods(20);
    await expectStable();
  });

  test('request long lists and read them slowly', async () => {
    await createLongList(system, account);
    beforeMb = await residentMb(system.api.pid);
    await attackers.readLongListsSlowly(15);
    await expectStable();
  });

  test('stay connected, most of them idle and some with unfinished requests', async () => {
    await attackers.openSlowHeads(100);
    await attackers.openBodies(40, 9);
    await openIdle();
    const { clients } = attackers;
    await until('all connections', async () => (await countConnections(system.api.port)) >= clients.length);
    await expectStable(MAX_MB_WITH_IDLE);
    expect(clients.filter(({ isClosed }) => isClosed())).toEqual([]);
  });
});

/** Opens as many connections as the limit on open files allows, and as the machine can open in half a minute. */
async function openIdle(): Promise<void> {
  const limits = await readFile('/proc/self/limits', 'utf8');
  const wanted = Math.min(IDLE_CONNECTIONS, Number(/Max open files\s+(\d+)/.exec(limits)?.[1]) - 1_000);
  const deadline = performance.now() + OPEN_IDLE_WITHIN_MS;
  let opened = 0;
  for (let address = 2; opened < wanted && performance.now() < deadline; address += 1) {
    const count = Math.min(500, wanted - opened);
    opened += (await attackers.open(count, null, `127.0.0.${address}`)).length;
  }
  if (opened < IDLE_CONNECTIONS)
    process.stderr.write(`Only ${opened} of ${IDLE_CONNECTIONS} idle connections are open.\n`);
}
