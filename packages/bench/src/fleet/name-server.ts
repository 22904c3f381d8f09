import { execFile } from 'node:child_process';
import { Resolver } from 'node:dns/promises';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { NotPermittedError } from '@tocsin/embedded/program/run-program';
import { requireProgram, startServer } from '../processes/server-programs.ts';
import type { Bench } from '../scenarios/scenario.ts';
import { hostsOf, ZONE } from './plan.ts';

const ADDRESS = '127.80.0.53';
/** Executes its arguments with `$0` as the resolv.conf. */
const WITH_RESOLV_CONF = 'mount --bind "$0" /etc/resolv.conf && exec "$@"';
const run = promisify(execFile);

/**
 * Starts a name server with the hosts of a fleet, Debian's unbound. A mount namespace gives the checkers their own resolv.conf.
 * @returns its process id, and a command that runs a program with it
 * @throws UsageError without unbound
 * @throws NotPermittedError without root privileges
 */
export async function startNameServer(
  bench: Bench,
  systemFolder: string,
  monitors: number,
): Promise<{ readonly pid: number; readonly launcher: readonly [program: string, ...args: string[]] }> {
  const program = requireProgram('unbound');
  const folder = join(systemFolder, 'names');
  await mkdir(folder);
  const resolvConf = join(folder, 'resolv.conf');
  await writeFile(resolvConf, `nameserver ${ADDRESS}\n`);
  const options = ['--mount', '--propagation', 'private', 'sh', '-c', WITH_RESOLV_CONF, resolvConf];
  await run('unshare', [...options, 'true']).catch((cause: unknown) => {
    const why =
      'The checkers need their own resolv.conf, in a mount namespace, and the name server needs port 53';
    throw new NotPermittedError(`${why}. Run the scenario as root.`, { cause });
  });
  const hosts = hostsOf(monitors);
  const records = hosts.map(({ name, ttlSeconds, address }) => `${name}. ${ttlSeconds} IN A ${address}`);
  const zone = [`${ZONE}. 3600 IN SOA ns.${ZONE}. hostmaster.${ZONE}. 1 3600 600 86400 60`, ...records, ''];
  await writeFile(join(folder, 'zone'), zone.join('\n'));
  await writeFile(join(folder, 'unbound.conf'), configOf(folder));
  const resolver = new Resolver({ timeout: 1_000, tries: 1 });
  resolver.setServers([ADDRESS]);
  const isReady = (): Promise<boolean> =>
    resolver.resolve4(hosts[0]?.name ?? ZONE).then(
      () => true,
      () => false,
    );
  const { pid } = await startServer(bench, program, ['-d', '-c', 'unbound.conf'], folder, isReady);
  return { pid, launcher: ['unshare', ...options] };
}

/** Returns a configuration of unbound with one thread and no files outside of the folder. */
function configOf(folder: string): string {
  return `server:
  interface: ${ADDRESS}
  directory: "${folder}"
  chroot: ""
  username: ""
  pidfile: ""
  use-syslog: no
  num-threads: 1
  do-ip6: no
  module-config: "iterator"
  # Unbound refuses names of "test" by default (RFC 6761).
  local-zone: "test." nodefault
auth-zone:
  name: "${ZONE}"
  zonefile: "${folder}/zone"
  for-upstream: no
`;
}
