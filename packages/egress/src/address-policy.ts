import { isIP } from 'node:net';
import os from 'node:os';
import ipaddr from 'ipaddr.js';
import { DENIED_IPV4, DENIED_IPV6, GLOBAL_UNICAST_IPV6, type DeniedRange } from './denied-ranges.ts';
import { type Address, isLocalPrefix, type Range, translatedIPv4, WELL_KNOWN_PREFIX } from './nat64.ts';

export interface AddressPolicy {
  /** Completes "address 10.0.0.1 is …", or null if the address is allowed. Non-canonical text is blocked. */
  blockedReason(ip: string): string | null;
}

/** Returns the addresses and ranges of this machine. The array stays the same until they change. */
export type OwnAddresses = () => readonly string[];

const FIRST_MAPPED_BIT = 96;
const globalUnicast = ipaddr.parseCIDR(GLOBAL_UNICAST_IPV6);
const parseDenied = (ranges: readonly DeniedRange[]): (readonly [Range, string])[] =>
  ranges.map(([cidr, reason]) => [ipaddr.parseCIDR(cidr), reason]);
const deniedIPv4 = parseDenied(DENIED_IPV4);
const deniedIPv6 = parseDenied(DENIED_IPV6);

/**
 * Creates the policy for public addresses, with some ranges opened.
 * @param allowCidrs an IPv4 range includes the IPv4-mapped and NAT64 forms of its addresses, but not their 6to4 or Teredo forms. A prefix for
 * local NAT64 opens the public addresses behind it
 * @param ownAddresses blocked even if public, because connections from this machine bypass its firewall
 * @throws TypeError that names the invalid CIDR
 */
export function createAddressPolicy(
  allowCidrs: readonly string[],
  ownAddresses: OwnAddresses = () => [],
): AddressPolicy {
  const allowed = allowCidrs.map(parseAllowed);
  const nat64Prefixes = [WELL_KNOWN_PREFIX, ...allowed.filter(isLocalPrefix)];
  const isOwn = createOwnTest(ownAddresses);
  function reasonOf(address: Address): string | null {
    const reason = deniedReason(address) ?? (isOwn(address) ? 'an address of this machine' : null);
    return reason === null || allowed.some((range) => contains(range, address)) ? null : reason;
  }
  return {
    blockedReason(ip) {
      const address = parseAddress(ip);
      if (address === null) return 'not a valid IP address';
      const translated = translatedIPv4(address, nat64Prefixes);
      if (translated === null) return reasonOf(address);
      if (translated === 'malformed')
        return 'in a local NAT64 range, whose prefix is longer than the allowed one';
      const reason = reasonOf(translated);
      return reason === null ? null : `NAT64 for ${translated.toString()}, which is ${reason}`;
    },
  };
}

/** Parses the value of `EGRESS_ALLOW_CIDRS`. @throws TypeError that names the invalid CIDR */
export function parseCidrs(text: string): string[] {
  const entries = text
    .split(',')
    .map((entry) => entry.trim())
    .filter((entry) => entry !== '');
  for (const entry of entries) parseAllowed(entry);
  return entries;
}

function parseAllowed(entry: string): Range {
  const [, host = '', bits] = /^([^/%]*)(?:\/(\d{1,3}))?$/.exec(entry) ?? [];
  const family = isIP(host);
  const width = family === 4 ? 32 : 128;
  const length = Number(bits ?? width);
  if (family === 0 || length > width)
    throw new TypeError(`"${entry}" is not a CIDR range: write it like 10.0.0.0/8 or fd00::/8`);
  const address = family === 4 ? ipaddr.IPv4.parse(host) : parseIPv6(host);
  const Family = family === 4 ? ipaddr.IPv4 : ipaddr.IPv6;
  const network = Family.networkAddressFromCIDR(`${address.toString()}/${length}`);
  if (network.toString() !== address.toString()) {
    throw new TypeError(
      `"${entry}" has bits set beyond its prefix: write ${network.toString()}/${length} or ${host}/${width}`,
    );
  }
  if (address instanceof ipaddr.IPv6 && address.isIPv4MappedAddress() && length >= FIRST_MAPPED_BIT)
    return [address.toIPv4Address(), length - FIRST_MAPPED_BIT];
  return [address, length];
}

/** Parses canonical text only. ipaddr.js also accepts octal, hexadecimal and shortened forms, which `connect` does not. */
function parseAddress(ip: string): Address | null {
  const family = isIP(ip);
  if (family === 4) return ipaddr.IPv4.parse(ip);
  if (family === 0) return null;
  const address = parseIPv6(ip.replace(/%.*$/s, ''));
  return address.isIPv4MappedAddress() ? address.toIPv4Address() : address;
}

/** ipaddr.js reads `::8.8.8.8` as the mapped `::ffff:8.8.8.8`, so this writes the octets as hexadecimal groups. */
function parseIPv6(text: string): ipaddr.IPv6 {
  const hexadecimal = text.replace(/(\d+)\.(\d+)\.(\d+)\.(\d+)$/, (_dotted, ...octets: string[]) => {
    const [a = 0, b = 0, c = 0, d = 0] = octets.slice(0, 4).map(Number);
    return `${(a * 256 + b).toString(16)}:${(c * 256 + d).toString(16)}`;
  });
  return ipaddr.IPv6.parse(hexadecimal);
}

function deniedReason(address: Address): string | null {
  const isIPv4 = address instanceof ipaddr.IPv4;
  const denied = (isIPv4 ? deniedIPv4 : deniedIPv6).find(([range]) => contains(range, address));
  if (denied !== undefined) return denied[1];
  if (isIPv4) return null;
  if (!contains(globalUnicast, address)) return 'in a reserved range';
  return isIsatap(address) ? 'an ISATAP address' : null;
}

/** RFC 5214: a host with an ISATAP tunnel forwards packets to the IPv4 address at the end, whatever the prefix. */
function isIsatap({ parts }: ipaddr.IPv6): boolean {
  return (parts[4] === 0 || parts[4] === 0x0200) && parts[5] === 0x5efe;
}

function createOwnTest(ownAddresses: OwnAddresses): (address: Address) => boolean {
  let parsed: readonly string[] = [];
  let hosts = new Set<string>();
  let ranges: Range[] = [];
  return (address) => {
    const own = ownAddresses();
    if (own !== parsed) {
      parsed = own;
      hosts = new Set(own.flatMap((text) => parseAddress(text)?.toString() ?? []));
      ranges = own.filter((text) => text.includes('/')).map((text) => ipaddr.parseCIDR(text));
    }
    return hosts.has(address.toString()) || ranges.some((range) => contains(range, address));
  };
}

function contains(range: Range, address: Address): boolean {
  return range[0].kind() === address.kind() && address.match(range);
}

/** Reading the interfaces costs more than all other checks of a connection. */
const KEEP_MS = 10_000;

/** Reads the addresses of the network interfaces, at most every 10 s. @param nowMs a monotonic clock */
export function createOwnAddresses(
  interfaces: () => ReturnType<typeof os.networkInterfaces> = os.networkInterfaces,
  nowMs: () => number = () => performance.now(),
): OwnAddresses {
  let addresses: readonly string[] | null = null;
  let readAt = Number.NEGATIVE_INFINITY;
  return () => {
    if (addresses !== null && nowMs() - readAt < KEEP_MS) return addresses;
    try {
      addresses = Object.values(interfaces()).flatMap((all) => (all ?? []).map(ownRange));
    } catch (error) {
      // Reading fails, for example, if no file descriptor is free. The previous addresses stay in use. Without any, every connection fails.
      if (addresses === null) throw error;
    }
    readAt = nowMs();
    return addresses;
  };
}

/** On a loopback interface, Linux accepts the whole range of an IPv4 address as its own. */
function ownRange({ address, cidr, family, internal }: os.NetworkInterfaceInfo): string {
  return internal && family === 'IPv4' ? (cidr ?? address) : address;
}
