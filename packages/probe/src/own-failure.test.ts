import { once } from 'node:events';
import net from 'node:net';
import type os from 'node:os';
import { expect, jest, test } from '@jest/globals';
import { createEgress, type Egress } from '@tocsin/egress/create-egress';
import {
  check,
  failingEgress,
  holdProbeClock,
  loopbackEgress,
  useLocalTargets,
} from './testing/local-targets.ts';
import { hasSourceFor } from './own-failure.ts';

const OWN = 'the checker itself failed, which says nothing about the target: ';
const NO_FILE = { errorDetail: `${OWN}no file descriptor is free (EMFILE)`, ownFailure: 'EMFILE' };
const targets = useLocalTargets();

const noFile = Object.assign(new Error('connect EMFILE'), { code: 'EMFILE' });
const refused = Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' });

test('a check without a free local port says nothing about its target', async () => {
  const { origin, port } = await targets.http((_request, response) => response.end());
  const to = { host: '127.0.0.1', port, localAddress: '127.0.0.1' };
  const first = net.connect(to);
  await once(first, 'connect');
  const { localPort = 0 } = first;
  const egress: Egress = { ...loopbackEgress(), connectionTo: () => () => net.connect({ ...to, localPort }) };
  expect(await check(origin, egress)).toMatchObject({
    status: 'DOWN',
    errorReason: 'UNKNOWN_ERROR',
    errorDetail: `${OWN}no local port is free (EADDRNOTAVAIL)`,
    ownFailure: 'EADDRNOTAVAIL',
  });
  first.destroy();
});

test.each([
  ['a connection', noFile],
  [
    'one of several connections: the other address might have responded',
    new AggregateError([refused, noFile]),
  ],
  ['a lookup', new Error('lookup', { cause: noFile })],
])('nor does one without a file descriptor for %s', async (_what, error) => {
  expect(await check('http://shop.example/', failingEgress(error))).toMatchObject(NO_FILE);
});

test('nor does a check whose lookup gets no file descriptor until it times out', async () => {
  holdProbeClock();
  const egress = createEgress({ allowCidrs: [], lookup: () => undefined });
  const connectionTo: Egress['connectionTo'] = (origin, owner) => {
    owner.onRetry?.(noFile);
    return egress.connectionTo(origin, owner);
  };
  const probing = check('http://shop.example', { ...egress, connectionTo }, { timeoutMs: 1_000 });
  await new Promise(setImmediate);
  jest.advanceTimersByTime(1_000);
  expect(await probing).toMatchObject(NO_FILE);
});

const shared = { netmask: '', mac: '', cidr: null, internal: false };
const ipv4: os.NetworkInterfaceInfo = { ...shared, family: 'IPv4', address: '192.0.2.7' };
const loopback: os.NetworkInterfaceInfo = {
  ...shared,
  family: 'IPv6',
  address: '::1',
  internal: true,
  scopeid: 0,
};
const ipv6: os.NetworkInterfaceInfo = { ...shared, family: 'IPv6', address: '2001:db8::7', scopeid: 0 };

test.each([
  ['2001:db8::1', ipv4, false],
  ['2001:db8::1', loopback, false],
  ['::1', loopback, true],
  ['2001:db8::1', ipv6, true],
  ['192.0.2.1', ipv6, true],
])('to %s, a machine with one address can connect: %#', (address, own, expected) => {
  expect(hasSourceFor(address, () => ({ eth0: [own] }))).toBe(expected);
});
