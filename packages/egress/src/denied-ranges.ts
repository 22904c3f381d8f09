/** Completes "address 10.0.0.1 is <reason>". */
export type DeniedRange = readonly [cidr: string, reason: string];

/** IANA's IPv4 special-purpose registry and cloud metadata addresses. The first match counts. */
export const DENIED_IPV4: readonly DeniedRange[] = [
  ['0.0.0.0/32', 'the unspecified address'],
  ['0.0.0.0/8', 'in a reserved range'],
  ['10.0.0.0/8', 'in a private range'],
  ['100.100.100.200/32', 'a cloud metadata address'],
  ['100.64.0.0/10', 'in a carrier-grade NAT range'],
  ['127.0.0.0/8', 'in a loopback range'],
  ['168.63.129.16/32', 'a cloud metadata address'],
  ['169.254.169.254/32', 'a cloud metadata address'],
  ['169.254.0.0/16', 'in a link-local range'],
  ['172.16.0.0/12', 'in a private range'],
  ['192.0.0.192/32', 'a cloud metadata address'],
  ['192.0.0.0/24', 'in a reserved range'],
  ['192.80.8.124/32', 'a cloud metadata address'],
  ['192.0.2.0/24', 'in a documentation range'],
  ['192.31.196.0/24', 'in a reserved range'],
  ['192.52.193.0/24', 'in a reserved range'],
  ['192.88.99.0/24', 'in a 6to4 relay range'],
  ['192.168.0.0/16', 'in a private range'],
  ['192.175.48.0/24', 'in a reserved range'],
  ['198.18.0.0/15', 'in a benchmarking range'],
  ['198.51.100.0/24', 'in a documentation range'],
  ['203.0.113.0/24', 'in a documentation range'],
  ['224.0.0.0/4', 'in a multicast range'],
  ['255.255.255.255/32', 'the broadcast address'],
  ['240.0.0.0/4', 'in a reserved range'],
];

/** The policy treats IPv4-mapped and NAT64 addresses as IPv4. */
export const DENIED_IPV6: readonly DeniedRange[] = [
  ['::/128', 'the unspecified address'],
  ['::1/128', 'in a loopback range'],
  ['::/96', 'in an IPv4-compatible range'],
  ['::ffff:0:0:0/96', 'in an IPv4-translated range'],
  ['64:ff9b:1::/48', 'in a local NAT64 range'],
  ['fd00:ec2::/32', 'in a cloud metadata range'],
  ['fc00::/7', 'in a private range'],
  ['fe80::/10', 'in a link-local range'],
  ['fec0::/10', 'in a site-local range'],
  ['ff00::/8', 'in a multicast range'],
  ['2001::/32', 'in a Teredo range'],
  ['2001:2::/48', 'in a benchmarking range'],
  ['2001:10::/28', 'in an ORCHID range'],
  ['2001:20::/28', 'in an ORCHID range'],
  ['2001::/23', 'in a reserved range'],
  ['2001:db8::/32', 'in a documentation range'],
  ['2002::/16', 'in a 6to4 range'],
  ['2620:4f:8000::/48', 'in a reserved range'],
  ['3ffe::/16', 'in a reserved range'],
  ['3fff::/20', 'in a documentation range'],
];

/** IANA's range of global unicast addresses. All other IPv6 addresses are blocked. */
export const GLOBAL_UNICAST_IPV6 = '2000::/3';
