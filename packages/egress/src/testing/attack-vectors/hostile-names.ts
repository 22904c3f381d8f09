import { atHosts, vectors, type AttackVector } from './attack-vector.ts';

/** Names in a DNS zone of the attacker's, or of the network's: to addresses, or to another name (CNAME). */
export type Zone = Readonly<Record<string, readonly string[]>>;

/** The one address that is public on the attack ground. */
export const PUBLIC_ADDRESS = '127.200.0.1';

const LOCALHOST_ALIASES: Zone = {
  'localhost.localdomain': ['127.0.0.1'],
  localhost4: ['127.0.0.1'],
  localhost6: ['::1'],
  'ip6-localhost': ['::1'],
  'ip6-loopback': ['::1'],
  loopback: ['127.0.0.1'],
  broadcasthost: ['255.255.255.255'],
  'app.localhost': ['127.0.0.1', '::1'],
  'a.b.c.localhost': ['::1'],
  'kubernetes.docker.internal': ['127.0.0.1'],
};

const LOOPBACK_SERVICES: Zone = {
  'localtest.me': ['::1', '127.0.0.1'],
  'www.localtest.me': ['127.0.0.1'],
  'localh.st': ['127.0.0.1'],
  'lvh.me': ['127.0.0.1'],
  'vcap.me': ['127.0.0.1'],
  'lacolhost.com': ['127.0.0.1'],
  'spoofed.burpcollaborator.net': ['127.0.0.1'],
  'bugbounty.dod.network': ['127.0.0.2'],
  '127.0.0.1.nip.io': ['127.0.0.1'],
  'company.127.0.0.1.nip.io': ['127.0.0.1'],
  '7f000001.nip.io': ['127.0.0.1'],
  'app-10-0-0-1.nip.io': ['10.0.0.1'],
  '169.254.169.254.nip.io': ['169.254.169.254'],
  '127.0.0.1.xip.io': ['127.0.0.1'],
  '127-0-0-1.sslip.io': ['127.0.0.1'],
  'www.192-168-1-1.sslip.io': ['192.168.1.1'],
  '--1.sslip.io': ['::1'],
  'ip6.fd00-ec2--254.sslip.io': ['fd00:ec2::254'],
};

const PLATFORM_NAMES: Zone = {
  'metadata.google.internal': ['169.254.169.254'],
  'metadata.goog': ['169.254.169.254'],
  metadata: ['169.254.169.254'],
  'instance-data': ['169.254.169.254'],
  'instance-data.ec2.internal': ['169.254.169.254'],
  'metadata.tencentyun.com': ['169.254.0.23'],
  'metadata.packet.net': ['192.80.8.124'],
  'metadata.platformequinix.com': ['192.80.8.124'],
  'api.metadata.cloud.ibm.com': ['169.254.169.254'],
  'rancher-metadata': ['169.254.169.250'],
  'kubernetes.default.svc': ['10.96.0.1'],
  'kubernetes.default.svc.cluster.local': ['10.96.0.1'],
  'host.docker.internal': ['192.168.65.254'],
  'gateway.docker.internal': ['192.168.65.1'],
  'host.containers.internal': ['10.88.0.1'],
};

const PRIVATE_RESPONSES: Zone = {
  'loopback.attack.test': ['127.0.0.1'],
  'loopback6.attack.test': ['::1'],
  'both.attack.test': ['127.0.0.1', '::1'],
  'private.attack.test': ['10.0.0.1', '172.16.0.1', '192.168.0.1'],
  'unspecified.attack.test': ['0.0.0.0'],
  'unspecified6.attack.test': ['::'],
  'mapped.attack.test': ['::ffff:127.0.0.1'],
  'mapped-metadata.attack.test': ['::ffff:169.254.169.254'],
  'compatible.attack.test': ['::127.0.0.1'],
  'nat64.attack.test': ['64:ff9b::7f00:1'],
  'local-nat64.attack.test': ['64:ff9b:1::a9fe:a9fe'],
  'sixtofour.attack.test': ['2002:7f00:1::1'],
  'teredo.attack.test': ['2001:0:4136:e378:8000:63bf:80ff:fffe'],
  'isatap.attack.test': ['2a00:1450:4001:82a:0:5efe:7f00:1'],
  'unique-local.attack.test': ['fd12::1'],
  'link-local.attack.test': ['fe80::1', '169.254.1.1'],
  'broadcast.attack.test': ['255.255.255.255'],
  'multicast.attack.test': ['224.0.0.1', 'ff02::1'],
  'wireserver.attack.test': ['168.63.129.16'],
  'many.attack.test': Array.from({ length: 16 }, (_, index) => `10.0.0.${index + 1}`),
};

const ALIASES: Zone = {
  'alias.attack.test': ['loopback.attack.test'],
  'alias6.attack.test': ['loopback6.attack.test'],
  'alias-metadata.attack.test': ['metadata.google.internal'],
  'alias-of-alias.attack.test': ['alias.attack.test'],
  'long-way.attack.test': ['alias-of-alias.attack.test'],
  'alias-service.attack.test': ['kubernetes.default.svc.cluster.local'],
};

/** Some of the addresses are private: only the others may be connected to. */
const MIXED_RESPONSES: Zone = {
  'mixed-private-first.attack.test': ['10.0.0.1', PUBLIC_ADDRESS],
  'mixed-canary-first.attack.test': ['127.0.0.1', PUBLIC_ADDRESS],
  'mixed-canary-last.attack.test': [PUBLIC_ADDRESS, '127.0.0.1'],
  'mixed-families.attack.test': ['::1', PUBLIC_ADDRESS],
  'mixed-all.attack.test': [
    '::1',
    '169.254.169.254',
    '127.0.0.1',
    PUBLIC_ADDRESS,
    '10.0.0.1',
    'fd00:ec2::254',
  ],
  'mixed-mapped.attack.test': ['::ffff:127.0.0.1', PUBLIC_ADDRESS],
  'mixed-alias.attack.test': ['mixed-canary-first.attack.test'],
};

/** The zone of the attack ground's DNS server. */
export const HOSTILE_ZONE: Zone = {
  'public.attack.test': [PUBLIC_ADDRESS],
  ...LOCALHOST_ALIASES,
  ...LOOPBACK_SERVICES,
  ...PLATFORM_NAMES,
  ...PRIVATE_RESPONSES,
  ...ALIASES,
  ...MIXED_RESPONSES,
};

const namesOf = (zone: Zone): string[] => atHosts(Object.keys(zone).join(' '));

export const HOSTILE_NAMES: readonly AttackVector[] = [
  ...vectors('localhost', 'blocked', atHosts('localhost LOCALHOST LocalHost')),
  ...vectors('localhost', 'blocked', namesOf(LOCALHOST_ALIASES)),
  ...vectors('public name of loopback', 'blocked', namesOf(LOOPBACK_SERVICES)),
  ...vectors('name of a platform service', 'blocked', namesOf(PLATFORM_NAMES)),
  ...vectors('private DNS response', 'blocked', namesOf(PRIVATE_RESPONSES)),
  ...vectors('private DNS response', 'blocked', atHosts('LOOPBACK.Attack.TEST')),
  ...vectors('CNAME to private', 'blocked', namesOf(ALIASES)),
  ...vectors('mixed DNS responses', 'public', namesOf(MIXED_RESPONSES)),
];
