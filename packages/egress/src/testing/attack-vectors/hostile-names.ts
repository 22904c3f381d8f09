import { atHost, vectorsOf, type AttackVector } from './attack-vector.ts';

/** DNS zone of the attacker or the network. Maps names to addresses, or to another name (CNAME). */
export type Zone = Readonly<Record<string, readonly string[]>>;

/** The only public address of the attack ground. */
export const PUBLIC_ADDRESS = '127.200.0.1';

const LOCALHOST_ALIASES: Zone = {
  'localhost.localdomain': ['127.0.0.1'],
  'ip6-localhost': ['::1'],
  broadcasthost: ['255.255.255.255'],
  'app.localhost': ['127.0.0.1', '::1'],
};

const LOOPBACK_SERVICES: Zone = {
  'localtest.me': ['::1', '127.0.0.1'],
  'spoofed.burpcollaborator.net': ['127.0.0.1'],
  '127.0.0.1.nip.io': ['127.0.0.1'],
  '7f000001.nip.io': ['127.0.0.1'],
  'www.192-168-1-1.sslip.io': ['192.168.1.1'],
  '--1.sslip.io': ['::1'],
};

const PLATFORM_NAMES: Zone = {
  'metadata.google.internal': ['169.254.169.254'],
  metadata: ['169.254.169.254'],
  'instance-data': ['169.254.169.254'],
  'metadata.tencentyun.com': ['169.254.0.23'],
  'metadata.packet.net': ['192.80.8.124'],
  'rancher-metadata': ['169.254.169.250'],
  'kubernetes.default.svc': ['10.96.0.1'],
  'host.docker.internal': ['192.168.65.254'],
};

const PRIVATE_RESPONSES: Zone = {
  'loopback.attack.test': ['127.0.0.1'],
  'loopback6.attack.test': ['::1'],
  'private.attack.test': ['10.0.0.1', '172.16.0.1', '192.168.0.1'],
  'unspecified.attack.test': ['0.0.0.0'],
  'unspecified6.attack.test': ['::'],
  'mapped.attack.test': ['::ffff:127.0.0.1'],
  'compatible.attack.test': ['::127.0.0.1'],
  'nat64.attack.test': ['64:ff9b::7f00:1'],
  'sixtofour.attack.test': ['2002:7f00:1::1'],
  'teredo.attack.test': ['2001:0:4136:e378:8000:63bf:80ff:fffe'],
  'isatap.attack.test': ['2a00:1450:4001:82a:0:5efe:7f00:1'],
  'link-local.attack.test': ['fe80::1', '169.254.1.1'],
  'multicast.attack.test': ['224.0.0.1', 'ff02::1'],
  'many.attack.test': Array.from({ length: 16 }, (_, index) => `10.0.0.${index + 1}`),
};

const ALIASES: Zone = {
  'alias.attack.test': ['loopback.attack.test'],
  'alias-metadata.attack.test': ['metadata.google.internal'],
  'alias-of-alias.attack.test': ['alias.attack.test'],
};

/** Some of these addresses are private. Connections may go only to the others. */
const MIXED_RESPONSES: Zone = {
  'mixed-canary-first.attack.test': ['127.0.0.1', PUBLIC_ADDRESS],
  'mixed-canary-last.attack.test': [PUBLIC_ADDRESS, '127.0.0.1'],
  'mixed-families.attack.test': ['::1', PUBLIC_ADDRESS],
  'mixed-mapped.attack.test': ['::ffff:127.0.0.1', PUBLIC_ADDRESS, '10.0.0.1'],
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

const namesOf = (zone: Zone): string => Object.keys(zone).join(' ');

export const HOSTILE_NAMES: readonly AttackVector[] = [
  ...vectorsOf('blocked', atHost, {
    localhost: `localhost LOCALHOST LocalHost ${namesOf(LOCALHOST_ALIASES)}`,
    'public name of loopback': namesOf(LOOPBACK_SERVICES),
    'name of a platform service': namesOf(PLATFORM_NAMES),
    'private DNS response': `${namesOf(PRIVATE_RESPONSES)} LOOPBACK.Attack.TEST`,
    'CNAME to private': namesOf(ALIASES),
  }),
  ...vectorsOf('public', atHost, { 'mixed DNS responses': namesOf(MIXED_RESPONSES) }),
];
