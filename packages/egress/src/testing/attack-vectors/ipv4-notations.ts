import { atHosts, vectors, type AttackVector } from './attack-vector.ts';

/** Every way that URL parsers and `inet_aton` read an IPv4 address, and those they must not read as one. */
export const IPV4_NOTATIONS: readonly AttackVector[] = [
  ...vectors(
    'IPv4 literal',
    'blocked',
    atHosts(`
      127.0.0.1 127.0.0.2 127.0.0.3 127.0.1.1 127.0.1.3 127.1.1.1 127.2.2.2 127.127.127.127
      127.255.255.254 127.0.0.0 127.255.255.255
    `),
  ),
  ...vectors(
    'decimal IPv4',
    'blocked',
    atHosts(`
      2130706433 2130706434 2147483647 3232235521 3232235777 2852039166 167772161 2886729729
      1684301000 2822734096 1 4294967295
    `),
  ),
  ...vectors(
    'octal IPv4',
    'blocked',
    atHosts(`
      0177.0.0.1 0177.0.0.01 00177.00.00.01 00000177.0.0.1 017700000001 0000017700000001 0177.1 0177.0.1
      0300.0250.0.01 030052000001 0251.0376.0251.0376 0251.00376.000251.0000376 025177524776 012.0.0.1
      0254.020.0.1
    `),
  ),
  ...vectors('octal IPv4', 'no URL', atHosts('0o177.0.0.1 o177.0.0.1 q177.0.0.1 08.0.0.1 0178.0.0.1')),
  ...vectors(
    'hexadecimal IPv4',
    'blocked',
    atHosts(`
      0x7f000001 0X7F000001 0x7f.0.0.1 0x7f.0x0.0x0.0x1 0x7F.1 0x7f.0x1 0x7f.0.1 127.0.0.0x1
      0x00000000007f000001 0xA9FEA9FE 0xA9.0xFE.0xA9.0xFE 0xc0a80001 0xac100001 0x0a000001 0xa83f8110
    `),
  ),
  ...vectors(
    'short and padded IPv4',
    'blocked',
    atHosts(`
      127.1 127.0.1 127.65793 10.1 10.0.1 10.256 192.168.1 192.168.257 172.16.1 172.1048577
      169.254.43518 169.16689662 100.100.25800 127.000.000.001 127.0.00.01 127.00000000001
    `),
  ),
  ...vectors(
    'mixed radix IPv4',
    'blocked',
    atHosts(`
      0177.0x0.1 0251.254.169.254 0xA9.254.0251.254 0xa9.0376.43518 192.0xa8.1 0300.168.0x1 0xac.020.1
      0x7f.1.01 127.0x0.00.0x01 012.0x1 0x64.0144.100.0xc8
    `),
  ),
  ...vectors(
    'IPv4 overflow',
    'no URL',
    atHosts(`
      425.510.425.510 7147006462 4294967296 6425673729 0x41414141A9FEA9FE 0x17f000001 0x100000000
      040000000000 256.0.0.1 127.0.0.256 127.0.0.257 383.0.0.1 127.0.65536 127.16777216 127.0.0.1.1
      1.2.3.4.5 127.0.0.0.1
    `),
  ),
  ...vectors('broken IPv4', 'no URL', atHosts('127..0.1 .127.0.0.1 127...1 a.b.c.1 0xg.0.0.1 -1.0.0.1')),
  ...vectors(
    'broken IPv4',
    'unknown name',
    atHosts('127.0.0.1.. 127.0.0.-1 127.0.0.1e0 127.0.0.1a 127.0.0.0o1'),
  ),
  ...vectors(
    'trailing dot',
    'blocked',
    atHosts(`
      127.0.0.1. 127.1. 2130706433. 0x7f000001. 0177.0.0.1. 0. 10.0.0.1. 169.254.169.254. localhost.
      LOCALHOST. loopback.attack.test. metadata.google.internal.
    `),
  ),
  ...vectors('trailing dot', 'no URL', atHosts('[::1].')),
  ...vectors(
    'unspecified address',
    'blocked',
    atHosts(`
      0.0.0.0 0 00 0x0 0x 0.0 0.0.0 00.00.00.00 000000000000 0.0.0.1 0.1.2.3 0.255.255.255 [::] [::0]
      [0:0:0:0:0:0:0:0] [0::0] [::0.0.0.0] [::ffff:0.0.0.0] [::ffff:0:0]
    `),
  ),
];
