import { atHosts, vectors, type AttackVector } from './attack-vector.ts';

/** IPv6 in every spelling, and every way of wrapping an IPv4 address into it. */
export const IPV6_NOTATIONS: readonly AttackVector[] = [
  ...vectors(
    'IPv6 loopback',
    'blocked',
    atHosts(`
      [::1] [0::1] [0000::1] [0:0::0:1] [::0001] [::0.0.0.1] [0:0:0:0:0:0:0:1]
      [0000:0000:0000:0000:0000:0000:0000:0001]
    `),
  ),
  ...vectors(
    'IPv4-mapped IPv6',
    'blocked',
    atHosts(`
      [::ffff:127.0.0.1] [::FFFF:127.0.0.1] [::ffff:7f00:1] [0:0:0:0:0:ffff:127.0.0.1]
      [0:0:0:0:0:ffff:7f00:1] [0000:0000:0000:0000:0000:ffff:7f00:0001] [::ffff:127.127.127.127]
      [::ffff:10.0.0.1] [::ffff:172.16.0.1] [::ffff:192.168.0.1] [::ffff:100.64.0.1]
      [::ffff:169.254.169.254] [::ffff:a9fe:a9fe] [0:0:0:0:0:ffff:a9fe:a9fe]
      [0:0:0:0:0:ffff:169.254.169.254] [::ffff:100.100.100.200] [::ffff:168.63.129.16]
      [::ffff:224.0.0.1] [::ffff:255.255.255.255]
    `),
  ),
  ...vectors(
    'IPv4-mapped IPv6',
    'no URL',
    atHosts(
      '[::ffff:0177.0.0.1] [::ffff:0x7f.0.0.1] [::ffff:127.1] [::ffff:2130706433] [::ffff:127.0.0.256]',
    ),
  ),
  ...vectors(
    'IPv4-compatible IPv6',
    'blocked',
    atHosts(`
      [::127.0.0.1] [::7f00:1] [0:0:0:0:0:0:127.0.0.1] [::10.0.0.1] [::a00:1] [::192.168.0.1]
      [::169.254.169.254] [::a9fe:a9fe] [::2]
    `),
  ),
  ...vectors(
    'IPv4-translated IPv6',
    'blocked',
    atHosts('[::ffff:0:127.0.0.1] [::ffff:0:7f00:1] [::ffff:0:10.0.0.1] [::ffff:0:a9fe:a9fe]'),
  ),
  ...vectors(
    'NAT64',
    'blocked',
    atHosts(`
      [64:ff9b::127.0.0.1] [64:ff9b::7f00:1] [0064:ff9b:0:0:0:0:7f00:0001] [64:ff9b::10.0.0.1]
      [64:ff9b::192.168.0.1] [64:ff9b::169.254.169.254] [64:ff9b::a9fe:a9fe] [64:ff9b::100.100.100.200]
      [64:ff9b::8.8.8.8] [64:ff9b:1::127.0.0.1] [64:ff9b:1::a9fe:a9fe] [64:ff9b:1:7f00:0:100::]
      [64:ff9b:1:ffff:ffff:ffff:10.0.0.1]
    `),
  ),
  ...vectors(
    '6to4',
    'blocked',
    atHosts(`
      [2002:7f00:1::] [2002:7f00:1::1] [2002:7f00:0001:0:0:0:0:1] [2002:a00:1::1] [2002:c0a8:1::1]
      [2002:ac10:1::1] [2002:a9fe:a9fe::1] [2002:808:808::1] 192.88.99.1
    `),
  ),
  ...vectors(
    'Teredo',
    'blocked',
    atHosts(`
      [2001::1] [2001:0:7f00:1::] [2001:0:a00:1::1] [2001:0:4136:e378:8000:63bf:80ff:fffe]
      [2001:0:53aa:64c:0:0:5601:5601]
    `),
  ),
  ...vectors(
    'ISATAP',
    'blocked',
    atHosts(`
      [fe80::5efe:127.0.0.1] [fe80::5efe:10.0.0.1] [fe80::200:5efe:192.168.0.1] [fc00::5efe:169.254.169.254]
      [2a00:1450:4001:82a:0:5efe:127.0.0.1] [2a00:1450:4001:82a:200:5efe:10.0.0.1]
      [2606:4700:0:1:0:5efe:a9fe:a9fe] [2606:4700:0:1:200:5efe:c0a8:1] [2001:4860::5efe:172.16.0.1]
    `),
  ),
  ...vectors(
    'zone-id IPv6',
    'no URL',
    atHosts('[::1%25lo] [::1%lo] [::1%251] [fe80::1%25eth0] [fe80::1%eth0] [fe80::a9fe:a9fe%25eth0] [::1%]'),
  ),
  ...vectors(
    'broken IPv6',
    'no URL',
    atHosts(`
      [::1 ::1 ::ffff:127.0.0.1 0000::1 [[::1]] [::1]] [::1::] [1:2:3:4:5:6:7:8:9] [::g] [127.0.0.1] [] [::1]x
      x[::1] [:1] [::12345] [::ffff:127.0.0.1.]
    `),
  ),
];
