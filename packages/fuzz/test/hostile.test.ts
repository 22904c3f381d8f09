import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals';
import { until } from '@tocsin/embedded/testing/until';
import { openAccount, type Account } from '@tocsin/fuzz/system/account';
import { openSystem, type FuzzApi, type FuzzSystem } from '@tocsin/fuzz/system/system';
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

async function sendSlowHeads(): Promise<void> {
  for (const client of await attackers.openSlowHeads(20)) drip(client, 'a', 100);
}

async function sendSlowBodies(): Promise<void> {
  for (const client of await attackers.openBodies(5, 1_000)) drip(client, ' ', 100);
  const short = `${attackers.head('POST', '/api/cli/monitors', 'Content-Length: 100\r\n')}{}`;
  await attackers.open(5, short);
  for (const { socket } of await attackers.open(5, short)) socket.end();
}

const sendEndlessBodies = (): Promise<void> => attackers.sendEndlessBodies(1);
const sendFloods = (): Promise<void> => attackers.sendFloods(2);
const readLongListsSlowly = (): Promise<void> => attackers.readLongListsSlowly(3);
const sendIntoStreams = (): Promise<void> => attackers.sendIntoStreams(3);

const ATTACKS: readonly (readonly [string, () => Promise<void>])[] = [
  ['send heads byte by byte', sendSlowHeads],
  ['send bodies byte by byte, or shorter than announced', sendSlowBodies],
  ['send endless bodies as fast as possible', sendEndlessBodies],
  ['send floods of header lines, requests and garbage', sendFloods],
  ['request long lists and read them slowly', readLongListsSlowly],
  ['keep sending after they have opened a live stream', sendIntoStreams],
];

describeOnLinux('other clients are served while clients', () => {
  test.each(ATTACKS)('%s', async (_, attack) => {
    attackers = new Attackers(system.api.port, account);
    await attack();
    await useApi(system.api.port, account);
    if (attack === sendSlowHeads) expect(attackers.clients.filter(({ isClosed }) => isClosed())).toEqual([]);
  });
});

describeOnLinux('the api closes the connections of clients that', () => {
  test.each(ATTACKS)('%s', async (_, attack) => {
    attackers = new Attackers(strict.api.port, account);
    await attack();
    await attackers.untilNoConnections();
    const { clients } = attackers;
    // A slow reader has not read up to the end yet.
    if (attack !== readLongListsSlowly)
      await until('the clients to notice', () => clients.every(({ isClosed }) => isClosed()));
    const responses = clients.map(({ received }) => received());
    if (attack === sendSlowHeads) expect(responses).toContainEqual(expect.stringMatching(/^HTTP\/1\.1 408 /));
    // A stream contains no second response.
    if (attack === sendIntoStreams)
      expect(responses.map((text) => text.split('HTTP/1.1 ').length - 1)).toEqual(clients.map(() => 1));
  });
});
