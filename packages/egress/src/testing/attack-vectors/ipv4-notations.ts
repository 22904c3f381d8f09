import { atHost, vectorsOf, type AttackVector } from './attack-vector.ts';

/** Every notation that URL parsers and `inet_aton` read as an IPv4 address, and some that they must not read as one. */
export const IPV4_NOTATIONS: readonly AttackVector[] = [
  ...vectorsOf('blocked', atHost, {
    'IPv4 literal': '127.0.0.1 127.0.0.2 127.1.1.1 127.127.127.127 127.0.0.0 127.255.255.255',
    'decimal IPv4': '2130706433 2147483647 3232235777 2852039166 1 4294967295',
    'octal IPv4': `
      0177.0.0.1 00177.00.00.01 00000177.0.0.1 017700000001 0000017700000001 0177.1 0177.0.1
      0251.00376.000251.0000376
    `,
    'hexadecimal IPv4': `
      0x7f000001 0X7F000001 0x7f.0.0.1 0x7f.0x0.0x0.0x1 0x7F.1 0x7f.0.1 127.0.0.0x1 0x00000000007f000001
    `,
    'short and padded IPv4': '127.1 127.0.1 127.65793 10.256 172.1048577 127.000.000.001 127.00000000001',
    'mixed radix IPv4': '0177.0x0.1 0251.254.169.254 0xa9.0376.43518 0x7f.1.01 127.0x0.00.0x01',
    'trailing dot': `
      127.0.0.1. 127.1. 2130706433. 0x7f000001. 0177.0.0.1. 0. localhost. LOCALHOST. loopback.attack.test.
    `,
    'unspecified address': `
      0.0.0.0 0 00 0x0 0x 0.0 00.00.00.00 000000000000 0.0.0.1 0.255.255.255 [::] [0:0:0:0:0:0:0:0]
      [::0.0.0.0] [::ffff:0.0.0.0] [::ffff:0:0]
    `,
  }),
  ...vectorsOf('no URL', atHost, {
    'octal IPv4': '0o177.0.0.1 q177.0.0.1 08.0.0.1 0178.0.0.1',
    'IPv4 overflow': `
      425.510.425.510 4294967296 0x41414141A9FEA9FE 0x100000000 040000000000 127.0.0.256 256.0.0.1 127.0.65536
      127.16777216 127.0.0.1.1
    `,
    'broken IPv4': '127..0.1 .127.0.0.1 a.b.c.1 0xg.0.0.1 -1.0.0.1',
    'trailing dot': '[::1].',
  }),
  ...vectorsOf('unknown name', atHost, {
    'broken IPv4': '127.0.0.1.. 127.0.0.-1 127.0.0.1e0 127.0.0.1a',
  }),
];
