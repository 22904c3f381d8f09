import { execFile } from 'node:child_process';
import { Resolver } from 'node:dns/promises';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { NotPermittedError } from '@tocsin/embedded/program/run-program';
import { requireProgram, startServer } from '../processes/server-programs.ts';
import type { Bench } from '../scenarios/scenario.ts';
import { type HostRecord, ZONE } from './plan.ts';

/*
 * The names of the fleet, as in production. The checkers ask a caching resolver, and only expired names reach the authoritative server.
 * Both servers are Debian's unbound. A mount namespace, which needs root, gives the checkers a resolv.conf of their own.
 */

const ADDRESSES = { resolver: '127.80.0.53', authoritative: '127.80.0.54' } as const;
type Role = keyof typeof ADDRESSES;
const ZONE_FILE = 'zone';
/** Seconds for which a resolver remembers that a name has no address. */
const NEGATIVE_TTL = 60;
/** Executes its arguments with `$0` as the resolv.conf. */
const WITH_RESOLV_CONF = 'mount --bind "$0" /etc/resolv.conf && exec "$@"';
const run = promisify(execFile);

export interface NameServers {
  /** Runs a program that resolves names with these servers. */
  readonly launcher: readonly [program: string, ...args: string[]];
  /** By role. */
  readonly pids: ReadonlyMap<string, number>;
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
  const folder = join(systemFolder, 'names');
  await mkdir(folder);
  const resolvConf = join(folder, 'resolv.conf');
  await writeFile(resolvConf, `nameserver ${ADDRESSES.resolver}\n`);
  const options = ['--mount', '--propagation', 'private', 'sh', '-c', WITH_RESOLV_CONF, resolvConf];
  await run('unshare', [...options, 'true']).catch((cause: unknown) => {
    const why =
      'The checkers need a resolv.conf of their own, in a mount namespace, and the resolver needs port 53';
    throw new NotPermittedError(`${why}. Run the scenario as root.`, { cause });
  });
  await writeFile(join(folder, ZONE_FILE), zoneFile(hosts));
  const start = async (role: Role): Promise<number> => {
    const file = join(folder, `${role}.conf`);
    await writeFile(file, configOf(role, folder));
    const isReady = (): Promise<boolean> => doesResolve(ADDRESSES[role], hosts[0]?.name ?? ZONE);
    return (await startServer(bench, program, ['-d', '-c', file], folder, isReady)).pid;
  };
  const pids = new Map([
    ['authoritative', await start('authoritative')],
    ['resolver', await start('resolver')],
  ]);
  return {
    launcher: ['unshare', ...options],
    pids,
  };
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

/** Returns a configuration of unbound with one thread and no files outside of the folder. */
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
${zone}
`;
}
