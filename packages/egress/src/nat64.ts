import ipaddr from 'ipaddr.js';

export type Address = ipaddr.IPv4 | ipaddr.IPv6;
export type Range = [Address, number];

/** RFC 6052. Behind DNS64, names with only IPv4 addresses resolve to this prefix. */
export const WELL_KNOWN_PREFIX: Range = ipaddr.parseCIDR('64:ff9b::/96');
/** RFC 8215. Operators choose prefixes in this range, so an address alone does not show where its IPv4 address is. */
const LOCAL_USE = ipaddr.parseCIDR('64:ff9b:1::/48');

/** Bytes of the IPv4 address by prefix length. RFC 6052 skips byte 8. */
const IPV4_BYTES: Readonly<Record<number, readonly [number, number, number, number]>> = {
  48: [6, 7, 9, 10],
  56: [7, 9, 10, 11],
  64: [9, 10, 11, 12],
  96: [12, 13, 14, 15],
};

/** Reports whether a range can be a local NAT64 prefix. Its length then shows where the IPv4 addresses are. */
export function isLocalPrefix([network, length]: Range): boolean {
  return network instanceof ipaddr.IPv6 && network.match(LOCAL_USE) && IPV4_BYTES[length] !== undefined;
}

/** Returns the IPv4 address that the longest matching NAT64 prefix embeds, or null. `malformed` means that bits violate RFC 6052. */
export function translatedIPv4(
  address: Address,
  prefixes: readonly Range[],
): ipaddr.IPv4 | 'malformed' | null {
  if (address instanceof ipaddr.IPv4) return null;
  const matching = prefixes.filter((range) => address.match(range)).map(([, length]) => length);
  const positions = IPV4_BYTES[Math.max(...matching)];
  if (positions === undefined) return null;
  const bytes = address.toByteArray();
  const last = positions[3];
  const isWellFormed = last === 15 || [bytes[8], ...bytes.slice(last + 1)].every((byte) => byte === 0);
  return isWellFormed ? new ipaddr.IPv4(positions.map((position) => bytes[position] ?? 0)) : 'malformed';
}
