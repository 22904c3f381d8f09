import { atHosts, vectors, type AttackVector } from './attack-vector.ts';

/** Plainly written addresses of every range that is not public. */
export const DENIED_ADDRESSES: readonly AttackVector[] = [
  ...vectors(
    'private IPv4',
    'blocked',
    atHosts(`
      10.0.0.0 10.0.0.1 10.255.255.255 172.16.0.0 172.16.0.1 172.31.255.255 192.168.0.0 192.168.0.1
      192.168.1.1 192.168.255.255
    `),
  ),
  ...vectors('carrier-grade NAT', 'blocked', atHosts('100.64.0.0 100.64.0.1 100.99.1.2 100.127.255.255')),
  ...vectors('link-local IPv4', 'blocked', atHosts('169.254.0.0 169.254.0.1 169.254.1.1 169.254.255.255')),
  ...vectors('benchmarking', 'blocked', atHosts('198.18.0.0 198.18.0.1 198.19.255.255 [2001:2::1]')),
  ...vectors(
    'documentation',
    'blocked',
    atHosts('192.0.2.1 198.51.100.7 203.0.113.255 [2001:db8::1] [2001:db8:ffff::1] [3fff::1] [3fff:fff::1]'),
  ),
  ...vectors(
    'reserved IPv4',
    'blocked',
    atHosts(`
      192.0.0.1 192.0.0.8 192.0.0.170 192.31.196.1 192.52.193.1 192.175.48.1 240.0.0.0 240.0.0.1 250.1.2.3
      255.255.255.254
    `),
  ),
  ...vectors('multicast', 'blocked', atHosts('224.0.0.1 224.0.0.251 232.1.1.1 239.255.255.250')),
  ...vectors(
    'multicast',
    'blocked',
    atHosts('[ff01::1] [ff02::1] [ff02::2] [ff02::fb] [ff05::1:3] [ff0e::1]'),
  ),
  ...vectors('broadcast', 'blocked', atHosts('255.255.255.255 0xffffffff 037777777777 [::ffff:ffff:ffff]')),
  ...vectors(
    'unique local IPv6',
    'blocked',
    atHosts('[fc00::1] [fd00::1] [fd12:3456:789a:1::1] [fdff:ffff:ffff:ffff:ffff:ffff:ffff:ffff]'),
  ),
  ...vectors('link-local IPv6', 'blocked', atHosts('[fe80::1] [fe80::a9fe:a9fe] [FE80::7f00:1] [febf::1]')),
  ...vectors('site-local IPv6', 'blocked', atHosts('[fec0::1] [feff::1]')),
  ...vectors(
    'reserved IPv6',
    'blocked',
    atHosts(`
      [100::1] [100:0:0:1::1] [200::1] [1::1] [1fff::1] [4000::1] [5f00::1] [8000::1] [e000::1] [fe00::1]
      [2001:10::1] [2001:20::1] [2001:1::1] [2001:4:112::1] [2620:4f:8000::1] [3ffe::1]
    `),
  ),
];
