import { atHost, vectorsOf, type AttackVector } from './attack-vector.ts';

/** IPv6 in every spelling, and every way of wrapping an IPv4 address into it. */
export const IPV6_NOTATIONS: readonly AttackVector[] = [
  ...vectorsOf('blocked', atHost, {
    'IPv6 loopback': '[::1] [0000::1] [0:0::0:1] [::0001] [::0.0.0.1] [0:0:0:0:0:0:0:1]',
    'IPv4-mapped IPv6': `
      [::ffff:127.0.0.1] [::FFFF:127.0.0.1] [::ffff:7f00:1] [0:0:0:0:0:ffff:127.0.0.1]
      [0000:0000:0000:0000:0000:ffff:7f00:0001] [::ffff:169.254.169.254] [::ffff:a9fe:a9fe]
    `,
    'IPv4-compatible IPv6': '[::127.0.0.1] [::7f00:1] [0:0:0:0:0:0:127.0.0.1] [::2]',
    'IPv4-translated IPv6': '[::ffff:0:127.0.0.1] [::ffff:0:7f00:1]',
    NAT64: `
      [64:ff9b::127.0.0.1] [64:ff9b::7f00:1] [0064:ff9b:0:0:0:0:7f00:0001] [64:ff9b::169.254.169.254]
      [64:ff9b:1::127.0.0.1] [64:ff9b:1:7f00:0:100::] [64:ff9b:1:ffff:ffff:ffff:10.0.0.1]
    `,
    '6to4': '[2002:7f00:1::] [2002:7f00:0001:0:0:0:0:1] [2002:808:808::1] 192.88.99.1',
    Teredo: '[2001::1] [2001:0:7f00:1::] [2001:0:4136:e378:8000:63bf:80ff:fffe]',
    ISATAP: `
      [fe80::5efe:127.0.0.1] [2a00:1450:4001:82a:0:5efe:127.0.0.1] [2a00:1450:4001:82a:200:5efe:10.0.0.1]
      [2606:4700:0:1:0:5efe:a9fe:a9fe]
    `,
  }),
  ...vectorsOf('no URL', atHost, {
    'IPv4-mapped IPv6': '[::ffff:0177.0.0.1] [::ffff:0x7f.0.0.1] [::ffff:127.1] [::ffff:2130706433]',
    'zone-id IPv6': '[::1%25lo] [::1%lo] [fe80::1%25eth0] [fe80::1%eth0] [::1%]',
    'broken IPv6': `
      [::1 ::1 0000::1 [[::1]] [::1]] [::1::] [1:2:3:4:5:6:7:8:9] [::g] [127.0.0.1] [] [::1]x x[::1] [:1]
      [::12345]
    `,
  }),
];
