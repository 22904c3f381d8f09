import { atHost, vectorsOf, type AttackVector } from './attack-vector.ts';

/** Plainly written addresses in every range that is not public. The tests of the address policy cover the ends of the ranges. */
export const DENIED_ADDRESSES: readonly AttackVector[] = vectorsOf('blocked', atHost, {
  'private IPv4': '10.0.0.1 172.16.0.1 192.168.1.1',
  'carrier-grade NAT': '100.64.0.1',
  'link-local IPv4': '169.254.1.1',
  benchmarking: '198.18.0.1 [2001:2::1]',
  documentation: '192.0.2.1 198.51.100.7 203.0.113.255 [2001:db8::1] [3fff::1]',
  'reserved IPv4': '192.0.0.1 192.31.196.1 192.52.193.1 192.175.48.1 240.0.0.1 255.255.255.254',
  multicast: '224.0.0.1 239.255.255.250 [ff02::1] [ff0e::1]',
  broadcast: '255.255.255.255 0xffffffff 037777777777 [::ffff:ffff:ffff]',
  'unique local IPv6': '[fc00::1] [fd12:3456:789a:1::1]',
  'link-local IPv6': '[fe80::1] [FE80::7f00:1]',
  'site-local IPv6': '[fec0::1]',
  'reserved IPv6': '[100::1] [4000::1] [2001:10::1] [2001:20::1] [2001:4:112::1] [2620:4f:8000::1] [3ffe::1]',
});
