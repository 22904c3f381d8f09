import { isIP } from 'node:net';
import os from 'node:os';
import ipaddr from 'ipaddr.js';
import { DENIED_IPV4, DENIED_IPV6, type DeniedRange, GLOBAL_UNICAST_IPV6 } from './denied-ranges.ts';

/** Interfaces come and go, but asking the system for each connection would cost more than the connection's own checks. */
const KEEP_MS = 10_000;

/** The addresses of this machine, and ranges of them (`8.8.4.0/24`); the same array for as long as they are the same. */
export type OwnAddresses = () => readonly string[];

/** Those of its network interfaces, read again at most every 10 s. @param nowMs a clock that never goes back */
export function createOwnAddresses(
  interfaces: () => ReturnType<typeof os.networkInterfaces> = os.networkInterfaces,
  nowMs: () => number = () => performance.now(),
): OwnAddresses {
  let addresses: readonly string[] | null = null;
  let readAt = Number.NEGATIVE_INFINITY;
  const read = (): readonly string[] => {
    try {
      return Object.values(interfaces()).flatMap((all) => (all ?? []).map(ownRange));
    } catch (error) {
      // Such as a process without free file descriptors. What was read before still holds; without it, nothing may be reached.
      if (addresses === null) throw error;
      return addresses;
    }
  };
  return () => {
    if (addresses === null || nowMs() - readAt >= KEEP_MS) {
      addresses = read();
      readAt = nowMs();
    }
    return addresses;
  };
}

/** On a loopback interface Linux takes the whole range of an IPv4 address for the machine's own. */
function ownRange({ address, cidr, family, internal }: os.NetworkInterfaceInfo): string {
  return internal && family === 'IPv4' ? (cidr ?? address) : address;
}

type Address = ipaddr.IPv4 | ipaddr.IPv6;
type Range = [Address, number];
type NamedRange = readonly [range: Range, reason: string];

/** Decides which addresses the service may connect to (design §6). */
export interface AddressPolicy {
  /**
   * Why this address may not be reached, worded to follow "address 10.0.0.1 is": `in a private range`.
   * Null where it may. Text that is no IP address in canonical form is refused.
   */
  blockedReason(ip: string): string | null;
}

const FIRST_MAPPED_BIT = 96;
/** The fifth and sixth group of an ISATAP address (RFC 5214): what its IPv4 address follows. */
const ISATAP_FIFTH = new Set([0, 0x0200]);
const ISATAP_SIXTH = 0x5efe;
const globalUnicast = parseRange(GLOBAL_UNICAST_IPV6);
const deniedIPv4 = DENIED_IPV4.map(named);
const deniedIPv6 = DENIED_IPV6.map(named);

/**
 * The policy of design §6 with some ranges opened.
 * @param allowCidrs ranges that may be reached whatever they are. They open what they say and nothing else: an IPv4
 *   range also covers the IPv4-mapped form of its addresses (the same hosts), never their NAT64, 6to4 or Teredo form.
 * @param ownAddresses denied even where they are public: what listens there trusts a firewall that this machine's own
 *   connections never pass
 * @throws TypeError naming the entry that is no CIDR
 */
export function createAddressPolicy(
  allowCidrs: readonly string[],
  ownAddresses: OwnAddresses = () => [],
): AddressPolicy {
  const allowed = allowCidrs.map((cidr) => parseAllowed(cidr));
  const isOwn = createOwnTest(ownAddresses);
  return {
    blockedReason(ip) {
      const address = parseAddress(ip);
      if (address === null) return 'not a valid IP address';
      const reason = deniedReason(address) ?? (isOwn(address) ? 'an address of this machine' : null);
      if (reason === null || allowed.some((range) => contains(range, address))) return null;
      return reason;
    },
  };
}

/**
 * Reads the comma-separated ranges of `EGRESS_ALLOW_CIDRS`; a single address means that address only, blank means none.
 * @throws TypeError naming the entry that is no CIDR
 */
export function parseCidrs(text: string): string[] {
  const entries = text
    .split(',')
    .map((entry) => entry.trim())
    .filter((entry) => entry !== '');
  for (const entry of entries) parseAllowed(entry);
  return entries;
}

function parseAllowed(entry: string): Range {
  const [host = '', bits, ...rest] = entry.split('/');
  const family = isIP(host);
  const width = family === 4 ? 32 : 128;
  const length = bits === undefined ? width : /^\d{1,3}$/.test(bits) ? Number(bits) : Number.NaN;
  if (family === 0 || host.includes('%') || rest.length > 0 || !(length <= width)) {
    throw new TypeError(`"${entry}" is not a CIDR range: write it like 10.0.0.0/8 or fd00::/8`);
  }
  const address = family === 4 ? ipaddr.IPv4.parse(host) : parseIPv6(host);
  const network = networkOf(address, length);
  if (network.toString() !== address.toString()) {
    throw new TypeError(
      `"${entry}" has bits set beyond its prefix: write ${network.toString()}/${length} or ${host}/${width}`,
    );
  }
  if (address instanceof ipaddr.IPv6 && address.isIPv4MappedAddress() && length >= FIRST_MAPPED_BIT) {
    return [address.toIPv4Address(), length - FIRST_MAPPED_BIT];
  }
  return [address, length];
}

function networkOf(address: Address, length: number): Address {
  const bytes = address.toByteArray().map((byte, index) => {
    const bits = Math.min(8, Math.max(0, length - index * 8));
    return byte & (0xff << (8 - bits)) & 0xff;
  });
  return ipaddr.fromByteArray(bytes);
}

/** ipaddr.js reads octal, hexadecimal and shortened forms that `connect` would not: only canonical text gets to it. */
function parseAddress(ip: string): Address | null {
  const family = isIP(ip);
  if (family === 4) return ipaddr.IPv4.parse(ip);
  if (family === 0) return null;
  const zone = ip.indexOf('%');
  const address = parseIPv6(zone === -1 ? ip : ip.slice(0, zone));
  return address.isIPv4MappedAddress() ? address.toIPv4Address() : address;
}

/** ipaddr.js takes `::8.8.8.8` for the mapped `::ffff:8.8.8.8`, so it only gets to see hexadecimal groups. */
function parseIPv6(text: string): ipaddr.IPv6 {
  const hexadecimal = text.replace(/(\d+)\.(\d+)\.(\d+)\.(\d+)$/, (_dotted, ...octets: string[]) => {
    const [a = 0, b = 0, c = 0, d = 0] = octets.slice(0, 4).map(Number);
    return `${(a * 256 + b).toString(16)}:${(c * 256 + d).toString(16)}`;
  });
  return ipaddr.IPv6.parse(hexadecimal);
}

function deniedReason(address: Address): string | null {
  const isIPv4 = address instanceof ipaddr.IPv4;
  for (const [range, reason] of isIPv4 ? deniedIPv4 : deniedIPv6) {
    if (contains(range, address)) return reason;
  }
  if (isIPv4) return null;
  if (!contains(globalUnicast, address)) return 'in a reserved range';
  return isIsatap(address) ? 'an ISATAP address' : null;
}

/** Whatever its prefix, a host with such a tunnel sends packets for it to the IPv4 address that it ends with. */
function isIsatap({ parts }: ipaddr.IPv6): boolean {
  const [fifth = -1, sixth] = parts.slice(4, 6);
  return ISATAP_FIFTH.has(fifth) && sixth === ISATAP_SIXTH;
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
      ranges = own.filter((text) => text.includes('/')).map(parseRange);
    }
    return hosts.has(address.toString()) || ranges.some((range) => contains(range, address));
  };
}

function contains(range: Range, address: Address): boolean {
  return range[0].kind() === address.kind() && address.match(range);
}

function named([cidr, reason]: DeniedRange): NamedRange {
  return [parseRange(cidr), reason];
}

function parseRange(cidr: string): Range {
  return ipaddr.parseCIDR(cidr);
}
