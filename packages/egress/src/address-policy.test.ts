import type { NetworkInterfaceInfo } from 'node:os';
import { describe, expect, test } from '@jest/globals';
import { createAddressPolicy, createOwnAddresses, parseCidrs } from './address-policy.ts';

const list = (text: string): string[] => text.trim().split(/\s+/);

const BLOCKED: Readonly<Record<string, readonly string[]>> = {
  'the unspecified address': list('0.0.0.0 :: ::ffff:0.0.0.0'),
  'in a reserved range': list(`
    64:ff9b::1:8.8.8.8 64:ff9b:2::8.8.8.8 0.0.0.1 0.255.255.255 192.0.0.1 192.0.0.255 192.31.196.1 192.52.193.1 192.175.48.1 240.0.0.0
    255.255.255.254 100::1 4000::1 e000::1 1fff::1 2001:1::1 2001:1ff::1 3ffe::1 2620:4f:8000::1 fe00::1
    0:1::1 ::1:0:0:0
  `),
  'in a private range': list(`
    10.0.0.0 10.255.255.255 172.16.0.0 172.31.255.255 192.168.0.0 192.168.255.255 fc00::1 fdff:ffff::1
    ::ffff:10.0.0.1 ::ffff:c0a8:1 0:0:0:0:0:ffff:172.16.0.1 ::FFFF:192.168.0.1
  `),
  'in a loopback range': list('127.0.0.0 127.255.255.255 ::1 0:0:0:0:0:0:0:1 ::ffff:7f00:1'),
  'in a link-local range': list('169.254.0.1 169.254.169.253 fe80::1 fe80::1%eth0 febf::1'),
  'in a carrier-grade NAT range': list('100.64.0.0 100.127.255.255 ::ffff:100.64.0.1'),
  'a cloud metadata address': list(`
    169.254.169.254 ::ffff:a9fe:a9fe 168.63.129.16 100.100.100.200 192.0.0.192 192.80.8.124
  `),
  'in a cloud metadata range': list('fd00:ec2::254 fd00:ec2::23'),
  'in a multicast range': list('224.0.0.1 239.255.255.255 ff02::1 ff0e::1 ::ffff:224.0.0.1'),
  'the broadcast address': list('255.255.255.255 ::ffff:255.255.255.255'),
  'in a documentation range': list(`
    192.0.2.1 198.51.100.1 203.0.113.255 2001:db8::1 2001:db8:ffff::1 3fff::1 3fff:fff::1
  `),
  'in a benchmarking range': list('198.18.0.1 198.19.255.255 2001:2::1'),
  'in a 6to4 relay range': ['192.88.99.1'],
  'in an ORCHID range': list('2001:10::1 2001:1f::1 2001:20::1 2001:2f::1'),
  'in an IPv4-compatible range': list('::a00:1 ::10.0.0.1 ::8.8.8.8 ::2 ::ffff'),
  'in an IPv4-translated range': list('::ffff:0:10.0.0.1 ::ffff:0:8.8.8.8'),
  'NAT64 for 10.0.0.1, which is in a private range': list('64:ff9b::a00:1 64:ff9b::10.0.0.1'),
  'NAT64 for 169.254.169.254, which is a cloud metadata address': ['64:ff9b::a9fe:a9fe'],
  'in a local NAT64 range': list('64:ff9b:1::1 64:ff9b:1::8.8.8.8'),
  'in a Teredo range': list('2001::1 2001:0:53aa:64c::1'),
  'in a 6to4 range': list('2002:a00:1::1 2002:808:808::1 2002::1'),
  'in a site-local range': list('fec0::1 feff::1'),
  'an ISATAP address': list(`
    2a00:1450:4001:82a:0:5efe:127.0.0.1 2a00:1450:4001:82a:200:5efe:10.0.0.1 2606:4700::5efe:8.8.8.8
  `),
  'not a valid IP address': [
    '',
    ' 127.0.0.1',
    ...list(`
      localhost 2130706433 0x7f000001 127.1 0177.0.0.1 127.0.0.1. 1.2.3.4.5 256.1.1.1 [::1] 127.0.0.1/8 ::1::
      １２７.0.0.1
    `),
  ],
};

const REACHABLE = list(`
  1.0.0.1 1.1.1.1 8.8.8.8 9.255.255.255 11.0.0.0 100.63.255.255 100.128.0.0 126.255.255.255 128.0.0.0
  168.63.129.15 168.63.129.17 192.80.8.123 192.80.8.125 169.253.255.255 169.255.0.0 172.15.255.255 172.32.0.0
  191.255.255.255 192.0.1.0 192.0.3.0 192.167.255.255 192.169.0.0 198.17.255.255 198.20.0.0 198.51.99.255
  203.0.112.255 203.0.114.0 223.255.255.255 64:ff9b::8.8.8.8 64:ff9b::808:808 ::ffff:8.8.8.8 ::ffff:808:808 2000::1 2001:200::1
  2001:4860:4860::8888 2001:db7::1 2001:db9::1 2003::1 2606:4700::1111 2a00:1450::1 3ffd::1
  3fff:1000::1 2a00:1450:4001:82a:100:5efe:7f00:1 2a00:1450:4001:82a:0:5eff:7f00:1
  2a00:1450:4001:5efe:0:1:7f00:1
`);

describe('the address policy', () => {
  const policy = createAddressPolicy([]);

  test.each(Object.entries(BLOCKED))('blocks what is %s', (reason, ips) => {
    expect(ips.map((ip) => [ip, policy.blockedReason(ip)])).toEqual(ips.map((ip) => [ip, reason]));
  });

  test('allows public addresses up to the ends of the blocked ranges', () => {
    expect(REACHABLE.filter((ip) => policy.blockedReason(ip) !== null)).toEqual([]);
  });
});

test.each([
  ['', '', '127.0.0.1 ::1 0.0.0.0'],
  ['10.1.0.0/16', '10.1.0.0 10.1.255.255 ::ffff:10.1.2.3', '10.0.255.255 10.2.0.0 ::a01:1 127.0.0.1'],
  [
    '10.1.0.0/16',
    '64:ff9b::a01:1',
    '64:ff9b::a02:1 64:ff9b:1::a01:1 2002:a01:1::1 ::ffff:0:10.1.0.1 2001:0:a01:1::',
  ],
  ['127.0.0.0/8', '127.0.0.1 127.9.9.9 ::ffff:7f00:1', '::1 10.0.0.1 0.0.0.0 :: ::127.0.0.1'],
  ['127.0.0.4/30', '127.0.0.4 127.0.0.7', '127.0.0.3 127.0.0.8 127.0.1.4'],
  ['127.0.0.1', '127.0.0.1 ::ffff:127.0.0.1', '127.0.0.2 ::1'],
  ['0.0.0.0', '0.0.0.0', '0.0.0.1 127.0.0.1 ::'],
  ['0.0.0.0/0', '10.0.0.1 169.254.169.254 255.255.255.255 ::ffff:127.0.0.1', '::1 fe80::1'],
  ['::1', '::1', ':: ::2 127.0.0.1 ::ffff:127.0.0.1'],
  ['::/0', '::1 fe80::1 64:ff9b:1::a00:1', '64:ff9b::a00:1 127.0.0.1 ::ffff:127.0.0.1 10.0.0.1'],
  ['fd00::/8', 'fd12::1', 'fc00::1 fe80::1'],
  ['64:ff9b::/96', '64:ff9b::808:808', '64:ff9b::a00:1 64:ff9b::a9fe:a9fe 10.0.0.1 64:ff9b:1::808:808'],
  // The examples of RFC 6052, with a public and a private address.
  [
    '64:ff9b:1::/48',
    '64:ff9b:1:808:8:800::',
    // The last two embed 10.0.0.1 and 169.254.169.254 behind a translator with a longer prefix.
    '64:ff9b:1:a00:0:100:: 64:ff9b:1:abcd::a00:1 64:ff9b:1:808:8:800:a9fe:a9fe',
  ],
  ['64:ff9b:1::/48,64:ff9b:1:abcd::/96', '64:ff9b:1:abcd::808:808', '64:ff9b:1:abcd::a00:1'],
  ['64:ff9b:1:100::/56', '64:ff9b:1:108:8:808::', '64:ff9b:1:10a:0:1:: 64:ff9b:1:208:8:808::'],
  ['64:ff9b:1:122::/64', '64:ff9b:1:122:8:808:800::', '64:ff9b:1:122:a:0:100::'],
  ['64:ff9b:1::/96', '64:ff9b:1::808:808', '64:ff9b:1::a00:1 64:ff9b:1::a9fe:a9fe 64:ff9b:1:1::808:808'],
  ['64:ff9b:1::/96,10.0.0.0/8', '64:ff9b:1::a00:1', '64:ff9b:1::c0a8:1'],
  ['::127.0.0.1', '::127.0.0.1', '127.0.0.1 ::ffff:127.0.0.1'],
  ['::ffff:10.0.0.0/104', '10.2.3.4 ::ffff:10.2.3.4', '::10.2.3.4 192.168.0.1'],
  ['::ffff:0:0/96', '127.0.0.1 0.0.0.0 ::ffff:127.0.0.1', '::1 :: ::127.0.0.1'],
  ['127.0.0.2,127.0.0.0/30', '127.0.0.1 127.0.0.2 127.0.0.3', '127.0.0.4 127.1.0.2'],
])('the setting %j allows only its own addresses', (setting, open, closed) => {
  const policy = createAddressPolicy(parseCidrs(setting));
  const isBlocked = (ip: string): boolean => policy.blockedReason(ip) !== null;
  expect(open === '' ? [] : list(open).filter(isBlocked)).toEqual([]);
  expect(list(closed).filter(isBlocked)).toEqual(list(closed));
});

describe('parseCidrs', () => {
  test.each([
    [' , ', []],
    [' 10.0.0.0/8 ,fd00::/8, 127.0.0.1,', ['10.0.0.0/8', 'fd00::/8', '127.0.0.1']],
  ])('reads %j', (text, cidrs) => {
    expect(parseCidrs(text)).toEqual(cidrs);
  });

  test.each([
    ...list('localhost 10/8 10.0.0.0/33 fd00::/129 10.0.0.0/ 10.0.0.0/8x 010.0.0.0/8 fe80::1%eth0/64 /8'),
    '10.0.0.0 /8',
  ])('names the invalid entry %j', (entry) => {
    expect(() => parseCidrs(`127.0.0.0/8, ${entry}`)).toThrow(
      `"${entry}" is not a CIDR range: write it like 10.0.0.0/8 or fd00::/8`,
    );
  });

  test('refuses host bits, because the range is then ambiguous', () => {
    expect(() => parseCidrs('10.1.2.3/8')).toThrow(
      '"10.1.2.3/8" has bits set beyond its prefix: write 10.0.0.0/8 or 10.1.2.3/32',
    );
    expect(() => parseCidrs('fd00::1/8')).toThrow('write fd00::/8 or fd00::1/128');
  });
});

describe("the machine's own public addresses", () => {
  const OWN = ['8.8.8.8', '2606:4700:0:0:0:0:0:1111', '8.8.4.5/24'];
  const blocked = list('8.8.8.8 ::ffff:8.8.8.8 2606:4700::1111 8.8.4.0 ::ffff:8.8.4.255');

  test('are blocked, because no firewall protects them, but their neighbors are not, and can be allowed', () => {
    const policy = createAddressPolicy([], () => OWN);
    for (const ip of blocked) expect(policy.blockedReason(ip)).toBe('an address of this machine');
    const neighbors = list('8.8.8.9 2606:4700::1112 8.8.3.255 8.8.5.0');
    expect(neighbors.filter((ip) => policy.blockedReason(ip) !== null)).toEqual([]);
    const open = createAddressPolicy(['8.8.0.0/16', '2606:4700::/32'], () => OWN);
    expect(blocked.filter((ip) => open.blockedReason(ip) !== null)).toEqual([]);
  });

  test('may change', () => {
    let own = ['8.8.8.8'];
    const policy = createAddressPolicy([], () => own);
    expect(policy.blockedReason('8.8.8.8')).not.toBeNull();
    own = ['8.8.4.4'];
    expect([policy.blockedReason('8.8.8.8'), policy.blockedReason('8.8.4.4')]).toEqual([
      null,
      'an address of this machine',
    ]);
  });
});

describe('the addresses of the network interfaces', () => {
  const addressOf = (address: string, cidr: string | null = null): NetworkInterfaceInfo => ({
    address,
    cidr,
    family: 'IPv4',
    netmask: '',
    mac: '',
    internal: false,
  });

  test('are read again after ten seconds', () => {
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

  test('are kept if they cannot be read again', () => {
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

  test('include the whole IPv4 range of a loopback interface, and only the address of others', () => {
    const ipv6 = { ...addressOf('2606:4700::1', '2606:4700::1/64'), family: 'IPv6', scopeid: 0 } as const;
    const lo = [addressOf('8.8.4.5', '8.8.4.5/24'), addressOf('8.8.6.6'), ipv6];
    const interfaces = {
      lo: lo.map((one) => ({ ...one, internal: true })),
      eth0: [addressOf('8.8.8.8', '8.8.8.8/24')],
    };
    expect(createOwnAddresses(() => interfaces)()).toEqual(list('8.8.4.5/24 8.8.6.6 2606:4700::1 8.8.8.8'));
  });
});
