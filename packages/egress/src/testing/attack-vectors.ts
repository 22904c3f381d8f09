import os from 'node:os';
import { vectors, type AttackVector } from './attack-vectors/attack-vector.ts';
import { DENIED_ADDRESSES } from './attack-vectors/denied-addresses.ts';
import { ENCODED_HOSTS } from './attack-vectors/encoded-hosts.ts';
import { HOSTILE_NAMES } from './attack-vectors/hostile-names.ts';
import { IPV4_NOTATIONS } from './attack-vectors/ipv4-notations.ts';
import { IPV6_NOTATIONS } from './attack-vectors/ipv6-notations.ts';
import { METADATA_SERVICES } from './attack-vectors/metadata-services.ts';
import { PORTS_AND_SCHEMES } from './attack-vectors/ports-and-schemes.ts';
import { URL_SYNTAX } from './attack-vectors/url-syntax.ts';

/** Returns the addresses of this machine, except loopback addresses and those that need a zone id. */
export function interfaceAddresses(): string[] {
  return Object.values(os.networkInterfaces())
    .flatMap((addresses) => addresses ?? [])
    .filter(({ internal, family, scopeid }) => !internal && (family === 'IPv4' || scopeid === 0))
    .map(({ address }) => address);
}

/** Vectors that are the same on every machine. They include every class on the SSRF pages of OWASP and PayloadsAllTheThings. */
export const FIXED_VECTORS: readonly AttackVector[] = [
  ...IPV4_NOTATIONS,
  ...IPV6_NOTATIONS,
  ...DENIED_ADDRESSES,
  ...METADATA_SERVICES,
  ...HOSTILE_NAMES,
  ...ENCODED_HOSTS,
  ...URL_SYNTAX,
  ...PORTS_AND_SCHEMES,
];

/** All attacks on the egress guard, including those on addresses of this machine. */
export const ATTACK_VECTORS: readonly AttackVector[] = [
  ...FIXED_VECTORS,
  ...vectors(
    "the machine's own addresses",
    'blocked',
    interfaceAddresses().map((ip) => `http://${ip.includes(':') ? `[${ip}]` : ip}:PORT/`),
  ),
];

/** Groups the vectors by class for `test.each`. */
export function vectorsByKind(): [kind: string, count: number, vectors: readonly AttackVector[]][] {
  const kinds = new Map<string, AttackVector[]>();
  for (const vector of ATTACK_VECTORS) kinds.set(vector.kind, [...(kinds.get(vector.kind) ?? []), vector]);
  return [...kinds].map(([kind, members]) => [kind, members.length, members]);
}
