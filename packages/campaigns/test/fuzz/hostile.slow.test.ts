import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals';
import { openAccount, type Account } from '@tocsin/campaigns/fuzz/account';
import { openSystem, type FuzzApi, type FuzzSystem } from '@tocsin/campaigns/fuzz/fuzz-system';
import { Attackers, createLongList, describeOnLinux, drip, useApi } from './hostile-client.ts';

/** Never closes the connection of a slow client during the tests, so that it also keeps an ordinary client on a busy machine. */
let system: FuzzSystem;
/** Closes the connection of a slow client after a second. */
let strict: FuzzApi;
let account: Account;
let attackers: Attackers;
beforeAll(async () => {
  system = await openSystem({ API_REQUEST_TIMEOUT_SECONDS: '300' });
  account = await openAccount(system);
  strict = await system.startApi({ API_REQUEST_TIMEOUT_SECONDS: '1', API_KEEP_ALIVE_SECONDS: '1' });
  await createLongList(system, account);
});
afterAll(() => system.close());

/** The api has closed every connection and logged no error. */
afterEach(async () => {
  await attackers.close();
  for (const one of [system, strict]) expect(await one.newErrors()).toEqual([]);
});

const ATTACKS: Readonly<Record<string, () => Promise<void>>> = {
  'send heads byte by byte': async () => {
    for (const client of await attackers.openSlowHeads(20)) drip(client, 'a', 100);
  },
  'send bodies byte by byte, or shorter than announced': async () => {
    for (const client of await attackers.openBodies(5, 1_000)) drip(client, ' ', 100);
    const short = `${attackers.head('POST', '/api/cli/monitors', 'Content-Length: 100\r\n')}{}`;
    await attackers.open(5, short);
    for (const { socket } of await attackers.open(5, short)) socket.end();
  },
  'send endless bodies as fast as possible': () => attackers.sendEndlessBodies(1),
  'send floods of header lines, requests and garbage': () => attackers.sendFloods(2),
  'request long lists and read them slowly': () => attackers.readLongListsSlowly(3),
  'keep sending after they have opened a live stream': () => attackers.sendIntoStreams(3),
};

describeOnLinux('clients that', () => {
  test.each(Object.entries(ATTACKS))('%s: others are served meanwhile', async (_, attack) => {
    attackers = new Attackers(system.api.port, account);
    await attack();
    await useApi(system.api.port, account);
  });

  test.each(Object.entries(ATTACKS))('%s: the api closes their connections', async (_, attack) => {
    attackers = new Attackers(strict.api.port, account);
    await attack();
    await attackers.untilNoConnections();
  });
});
