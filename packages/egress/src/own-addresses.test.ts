import type { NetworkInterfaceInfo } from 'node:os';
import { expect, test } from '@jest/globals';
import { createOwnAddresses } from './address-policy.ts';

function addressOf(address: string, cidr: string | null = null): NetworkInterfaceInfo {
  return { address, family: 'IPv4', netmask: '', mac: '', internal: false, cidr };
}

test('returns the addresses of all interfaces and reads them again after ten seconds', () => {
  let now = 0;
  let reads = 0;
  const interfaces: NodeJS.Dict<NetworkInterfaceInfo[]> = { lo: [addressOf('127.0.0.1')], gone: undefined };
  const own = createOwnAddresses(
    () => {
      reads += 1;
      return interfaces;
    },
    () => now,
  );
  expect(own()).toEqual(['127.0.0.1']);
  interfaces['eth0'] = [addressOf('8.8.8.8'), addressOf('2606:4700::1')];
  now = 9_999;
  expect([own(), reads]).toEqual([['127.0.0.1'], 1]);
  now = 10_000;
  expect([own(), reads]).toEqual([['127.0.0.1', '8.8.8.8', '2606:4700::1'], 2]);
});

test('keeps the previous addresses if the interfaces cannot be read', () => {
  let now = 0;
  let isFailing = true;
  const own = createOwnAddresses(
    () => {
      if (isFailing) throw new Error('too many open files');
      return { lo: [addressOf('127.0.0.1')] };
    },
    () => now,
  );
  // Without any, no connection may be allowed.
  for (let times = 0; times < 2; times += 1) expect(own).toThrow('too many open files');
  isFailing = false;
  expect(own()).toEqual(['127.0.0.1']);
  isFailing = true;
  now = 10_000;
  expect(own()).toEqual(['127.0.0.1']);
});

test('returns the whole IPv4 range of a loopback interface, and only the address of others', () => {
  const ranged = { ...addressOf('8.8.4.5', '8.8.4.5/24'), internal: true };
  const ipv6: NetworkInterfaceInfo = {
    address: '2606:4700::1',
    cidr: '2606:4700::1/64',
    family: 'IPv6',
    scopeid: 0,
    netmask: '',
    mac: '',
    internal: true,
  };
  const interfaces = {
    lo: [ranged, { ...addressOf('8.8.6.6'), internal: true }, ipv6],
    eth0: [addressOf('8.8.8.8', '8.8.8.8/24')],
  };
  expect(createOwnAddresses(() => interfaces)()).toEqual([
    '8.8.4.5/24',
    '8.8.6.6',
    '2606:4700::1',
    '8.8.8.8',
  ]);
});
