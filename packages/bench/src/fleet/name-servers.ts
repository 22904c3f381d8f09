import { execFile } from 'node:child_process';
import { Resolver } from 'node:dns/promises';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { NotPermittedError } from '@tocsin/embedded/program/run-program';
import { requireProgram, startServer } from '../processes/server-program.ts';
import type { Bench } from '../scenarios/scenario.ts';
import { type HostRecord, ZONE } from './plan.ts';

/*
 * The names of the fleet, as in production: the checkers ask a caching resolver, and only what has expired there reaches the authoritative
 * server. Both are Debian's unbound. Only a mount namespace gives the checkers a resolv.conf of their own, which takes root.
 */

const ADDRESSES = { resolver: '127.80.0.53', authoritative: '127.80.0.54' } as const;
type Role = keyof typeof ADDRESSES;
const ZONE_FILE = 'zone';
/** For names without an address of the wanted family, in seconds. */
const NEGATIVE_TTL = 60;
/** Replaces itself by the program of its arguments, with `$0` as the resolv.conf. */
const WITH_RESOLV_CONF = 'mount --bind "$0" /etc/resolv.conf && exec "$@"';
const run = promisify(execFile);

type Launcher = readonly [program: string, ...args: string[]];

export interface NameServers {
  /** Starts a program that resolves names with these servers. */
  readonly launcher: Launcher;
  /** By role. */
  readonly pids: ReadonlyMap<string, number>;
  readonly readCounts: () => Promise<QueryCounts>;
}

/** Queries since the start of the resolver. */
export interface QueryCounts {
  readonly queries: number;
  /** Queries whose result was not in the cache. */
  readonly misses: number;
}

/**
 * Starts a resolver, and an authoritative server with these records.
 * @throws UsageError without unbound
 * @throws NotPermittedError without the rights of root
 */
export async function startNameServers(
  bench: Bench,
  systemFolder: string,
  hosts: readonly HostRecord[],
): Promise<NameServers> {
  const program = requireProgram('unbound', 'unbound');
  const control = requireProgram('unbound-control', 'unbound');
  const folder = join(systemFolder, 'names');
  await mkdir(folder);
  const resolvConf = join(folder, 'resolv.conf');
  await writeFile(resolvConf, `nameserver ${ADDRESSES.resolver}\n`);
  const launcher: Launcher = [
    'unshare',
    '--mount',
    '--propagation',
    'private',
    'sh',
    '-c',
    WITH_RESOLV_CONF,
    resolvConf,
  ];
  await requirePermission(launcher);
  await writeFile(join(folder, ZONE_FILE), zoneFile(hosts));
  const start = async (role: Role): Promise<number> => {
    const file = join(folder, `${role}.conf`);
    await writeFile(file, configOf(role, folder));
    const isReady = async (): Promise<boolean> => doesResolve(ADDRESSES[role], hosts[0]?.name ?? ZONE);
    return (await startServer(bench, { program, args: ['-d', '-c', file], folder, isReady })).pid;
  };
  const pids = new Map([
    ['authoritative', await start('authoritative')],
    ['resolver', await start('resolver')],
  ]);
  return {
    launcher,
    pids,
    readCounts: async () => {
      const { stdout } = await run(control, ['-c', join(folder, 'resolver.conf'), 'stats_noreset']);
      return parseCounts(stdout);
    },
  };
}

async function requirePermission([program, ...args]: Launcher): Promise<void> {
  try {
    await run(program, [...args, 'true']);
  } catch (cause) {
    const why =
      'The checkers need a resolv.conf of their own, in a mount namespace, and the resolver needs port 53';
    throw new NotPermittedError(`${why}. Run the scenario as root.`, { cause });
  }
}

async function doesResolve(server: string, name: string): Promise<boolean> {
  const resolver = new Resolver({ timeout: 1_000, tries: 1 });
  resolver.setServers([server]);
  return resolver.resolve4(name).then(
    () => true,
    () => false,
  );
}

function zoneFile(hosts: readonly HostRecord[]): string {
  return [
    `${ZONE}. 3600 IN SOA ns.${ZONE}. hostmaster.${ZONE}. 1 3600 600 86400 ${NEGATIVE_TTL}`,
    `${ZONE}. 3600 IN NS ns.${ZONE}.`,
    `ns.${ZONE}. 3600 IN A ${ADDRESSES.authoritative}`,
    ...hosts.map(({ name, ttlSeconds, address }) => `${name}. ${ttlSeconds} IN A ${address}`),
    '',
  ].join('\n');
}

/** The configuration of unbound, with one thread, and without files outside of the folder. */
function configOf(role: Role, folder: string): string {
  const zone =
    role === 'authoritative'
      ? `auth-zone:\n  name: "${ZONE}"\n  zonefile: "${join(folder, ZONE_FILE)}"\n  for-upstream: no`
      : `stub-zone:\n  name: "${ZONE}"\n  stub-addr: ${ADDRESSES.authoritative}`;
  return `server:
  interface: ${ADDRESSES[role]}
  directory: "${folder}"
  chroot: ""
  username: ""
  pidfile: ""
  use-syslog: no
  num-threads: 1
  do-ip6: no
  do-not-query-localhost: no
  module-config: "iterator"
  # Unbound refuses names of "test" by default (RFC 6761).
  local-zone: "test." nodefault
remote-control:
  control-enable: yes
  control-interface: "${join(folder, `${role}.sock`)}"
  control-use-cert: no
${zone}
`;
}

/** Reads the output of `unbound-control stats_noreset`. */
function parseCounts(text: string): QueryCounts {
  const read = (name: string): number =>
    Number(new RegExp(`^total\\.num\\.${name}=(\\d+)$`, 'm').exec(text)?.[1]);
  return { queries: read('queries'), misses: read('cachemiss') };
}
