import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdir, rm, writeFile } from 'node:fs/promises';
import os from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { isRunning } from '@tocsin/embedded/processes';
import { startPacketLoss, stopPacketLoss, type LinkEnd } from './packet-loss.ts';
import type { CutKind } from './record.ts';

/*
 * Each region has a network namespace with two links to this machine: `stores` leads to Postgres and Redis, `internet` to the targets and
 * their name server. All addresses are of one /24 block of a range for network tests (RFC 2544), which no other network uses.
 */

const RANGES = ['198.18', '198.19'];
const PREFIX = 'tocsin';
const CONFIG_FOLDER = '/etc/netns';
const TARGETS = 8;
const run = promisify(execFile);

async function ip(...args: readonly string[]): Promise<string> {
  const { stdout } = await run('ip', [...args]);
  return stdout;
}

/** Why this machine does not permit network namespaces that lose packets; null if it does. */
export async function findNamespaceProblem(): Promise<string | null> {
  const name = `${PREFIX}-${process.pid}-test`;
  try {
    await ip('netns', 'add', name);
    await ip('-n', name, 'route', 'add', 'blackhole', `${RANGES[0]}.0.0/24`);
    await startPacketLoss({ namespace: name, device: 'lo' }, 1);
    return null;
  } catch (error) {
    return error instanceof Error ? error.message.trim() : String(error);
  } finally {
    await ip('netns', 'delete', name).catch(() => undefined);
  }
}

/** The network of a region. */
export interface RegionNetwork {
  readonly region: string;
  readonly namespace: string;
  /** The address of this machine on the link to the stores. */
  readonly storesHost: string;
  /** The addresses of both ends of the link to the internet. */
  readonly internetHost: string;
  readonly internetAddress: string;
  /** Names of the interfaces of this machine. */
  readonly interfaces: { readonly stores: string; readonly internet: string };
}

export class Namespaces {
  readonly regions: readonly RegionNetwork[];
  /** Addresses for web servers. */
  readonly targets: readonly string[];
  readonly nameServer: string;
  /** All addresses, and those that only the links to the internet reach. */
  readonly block: string;
  readonly internet: string;

  private constructor(regions: readonly string[], suffix: string, block: string) {
    const address = (last: number): string => `${block}.${last}`;
    this.block = `${address(0)}/24`;
    this.internet = `${address(128)}/25`;
    this.targets = Array.from({ length: TARGETS }, (_, index) => address(129 + index));
    this.nameServer = address(192);
    this.regions = regions.map((region, index) => ({
      region,
      namespace: `${PREFIX}-${process.pid}-${suffix}-${region}`,
      storesHost: address(16 * index + 1),
      internetHost: address(16 * index + 5),
      internetAddress: address(16 * index + 6),
      interfaces: { stores: `s${suffix}${index}`, internet: `n${suffix}${index}` },
    }));
  }

  /** Creates a namespace for each region, and removes those that killed processes have left. */
  static async create(regions: readonly string[]): Promise<Namespaces> {
    await removeAbandoned();
    const namespaces = new Namespaces(regions, randomBytes(3).toString('hex'), chooseBlock());
    try {
      for (const region of namespaces.regions) await namespaces.#create(region);
      const [first] = namespaces.regions;
      for (const address of [...namespaces.targets, namespaces.nameServer])
        await ip('address', 'add', `${address}/32`, 'dev', first?.interfaces.internet ?? '');
      return namespaces;
    } catch (error) {
      await namespaces.remove();
      throw error;
    }
  }

  async #create({ namespace, storesHost, internetHost, interfaces }: RegionNetwork): Promise<void> {
    await ip('netns', 'add', namespace);
    await ip('-n', namespace, 'link', 'set', 'lo', 'up');
    for (const [link, host] of [
      ['stores', storesHost],
      ['internet', internetHost],
    ] as const) {
      const own = interfaces[link];
      await ip('link', 'add', own, 'type', 'veth', 'peer', 'name', link, 'netns', namespace);
      await ip('address', 'add', `${host}/30`, 'dev', own);
      await ip('link', 'set', own, 'up');
      await ip('-n', namespace, 'address', 'add', `${nextAddress(host)}/30`, 'dev', link);
      await ip('-n', namespace, 'link', 'set', link, 'up');
    }
    await ip('-n', namespace, 'route', 'add', this.internet, 'via', internetHost);
    const folder = join(CONFIG_FOLDER, namespace);
    await mkdir(folder, { recursive: true });
    await writeFile(join(folder, 'resolv.conf'), `nameserver ${this.nameServer}\n`);
  }

  /** Cuts a region off from the internet; its stores stay reachable. */
  async cut({ namespace, internetAddress }: RegionNetwork, kind: Exclude<CutKind, 'dns'>): Promise<void> {
    if (kind === 'silent') await ip('route', 'add', 'blackhole', `${internetAddress}/32`);
    else await ip('-n', namespace, 'route', 'replace', kind, this.internet);
  }

  async restore(
    { namespace, internetHost, internetAddress }: RegionNetwork,
    kind: Exclude<CutKind, 'dns'>,
  ): Promise<void> {
    if (kind === 'silent') await ip('route', 'delete', 'blackhole', `${internetAddress}/32`);
    else await ip('-n', namespace, 'route', 'replace', this.internet, 'via', internetHost);
  }

  /** Loses a share of the packets between a region and the internet, in each direction. */
  async startLoss(region: RegionNetwork, percent: number): Promise<void> {
    for (const end of internetEnds(region)) await startPacketLoss(end, percent);
  }

  async stopLoss(region: RegionNetwork): Promise<void> {
    for (const end of internetEnds(region)) await stopPacketLoss(end);
  }

  /** Everything that exists of it. The processes in the namespaces must have ended. */
  async remove(): Promise<void> {
    for (const { namespace, interfaces, internetAddress } of this.regions) {
      await ip('route', 'delete', 'blackhole', `${internetAddress}/32`).catch(() => undefined);
      for (const name of Object.values(interfaces)) await ip('link', 'delete', name).catch(() => undefined);
      await removeNamespace(namespace);
    }
  }
}

function internetEnds({ namespace, interfaces }: RegionNetwork): LinkEnd[] {
  return [
    { namespace: null, device: interfaces.internet },
    { namespace, device: 'internet' },
  ];
}

/** The other address of a /30 network. */
function nextAddress(address: string): string {
  return address.replace(/\d+$/, (last) => String(Number(last) + 1));
}

/** A block of addresses that no interface of this machine has. */
function chooseBlock(): string {
  const used = Object.values(os.networkInterfaces()).flatMap((all) =>
    (all ?? []).map(({ address }) => address),
  );
  const blocks = RANGES.flatMap((range) => Array.from({ length: 256 }, (_, index) => `${range}.${index}`));
  const free = blocks.filter((block) => !used.some((address) => address.startsWith(`${block}.`)));
  const block = free[Math.floor(Math.random() * free.length)];
  if (block === undefined) throw new Error(`every block of ${RANGES.join(' and ')} is in use`);
  return block;
}

async function removeNamespace(name: string): Promise<void> {
  await ip('netns', 'delete', name).catch(() => undefined);
  await rm(join(CONFIG_FOLDER, name), { recursive: true, force: true });
}

/** Removes the namespaces of processes that were killed. Their links end with them. */
async function removeAbandoned(): Promise<void> {
  const names = (await ip('netns', 'list')).split('\n').map((line) => line.split(' ', 1)[0] ?? '');
  for (const name of names) {
    const [, pid] = new RegExp(`^${PREFIX}-(\\d+)-`).exec(name) ?? [];
    if (pid !== undefined && !isRunning(Number(pid))) await removeNamespace(name);
  }
}
