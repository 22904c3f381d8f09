import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdir, rm, writeFile } from 'node:fs/promises';
import os from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { isRunning } from '@tocsin/embedded/processes';
import type { CutKind } from '../oracle/record.ts';

/*
 * Each region has a network namespace with two links to this machine: `stores` leads to Postgres and Redis, `internet` to the targets and
 * their name server. All addresses are in one /24 block of a range for network tests (RFC 2544), which no other network uses.
 */

const RANGES = ['198.18', '198.19'];
const PREFIX = 'tocsin';
const CONFIG_FOLDER = '/etc/netns';
const TARGETS = 8;
const MAX_UINT32 = 2 ** 32 - 1;
/** A classic BPF program reads a random number at this offset (`SKF_AD_OFF + SKF_AD_RANDOM`). */
const RANDOM_NUMBER = 4_294_963_256;
const run = promisify(execFile);

async function ip(...args: readonly string[]): Promise<string> {
  return (await run('ip', [...args])).stdout;
}

/** Returns the reason why this machine does not permit network namespaces that lose packets, or null. */
export async function findNamespaceProblem(): Promise<string | null> {
  const name = `${PREFIX}-${process.pid}-test`;
  try {
    await ip('netns', 'add', name);
    await ip('-n', name, 'route', 'add', 'blackhole', `${RANGES[0]}.0.0/24`);
    await startPacketLoss(['-n', name], 'lo', 1);
    return null;
  } catch (error) {
    return error instanceof Error ? error.message.trim() : String(error);
  } finally {
    await ip('netns', 'delete', name).catch(() => undefined);
  }
}

export interface RegionNetwork {
  readonly region: string;
  readonly namespace: string;
  /** The address of this machine on the link to the stores. */
  readonly storesHost: string;
  /** The addresses of both ends of the link to the internet. */
  readonly internetHost: string;
  readonly internetAddress: string;
  readonly interfaces: { readonly stores: string; readonly internet: string };
}

export class Namespaces {
  readonly regions: readonly RegionNetwork[];
  readonly targets: readonly string[];
  readonly nameServer: string;
  /** An address for the gateways of agents. */
  readonly gateway: string;
  /** The CIDR block of all addresses. */
  readonly block: string;
  /** The CIDR block that only the links to the internet reach. */
  readonly internet: string;

  private constructor(regions: readonly string[], suffix: string, block: string) {
    const address = (last: number): string => `${block}.${last}`;
    this.block = `${address(0)}/24`;
    this.internet = `${address(128)}/25`;
    this.targets = Array.from({ length: TARGETS }, (_, index) => address(129 + index));
    this.nameServer = address(192);
    this.gateway = address(193);
    this.regions = regions.map((region, index) => ({
      region,
      namespace: `${PREFIX}-${process.pid}-${suffix}-${region}`,
      storesHost: address(16 * index + 1),
      internetHost: address(16 * index + 5),
      internetAddress: address(16 * index + 6),
      interfaces: { stores: `s${suffix}${index}`, internet: `n${suffix}${index}` },
    }));
  }

  /** Creates a namespace for each region, and removes the namespaces of processes that were killed. */
  static async create(regions: readonly string[]): Promise<Namespaces> {
    await removeAbandoned();
    const namespaces = new Namespaces(regions, randomBytes(3).toString('hex'), chooseBlock());
    try {
      for (const region of namespaces.regions) await namespaces.#create(region);
      const [first] = namespaces.regions;
      for (const address of [...namespaces.targets, namespaces.nameServer, namespaces.gateway])
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
      // The other address of the /30 network.
      const peer = host.replace(/\d+$/, (last) => String(Number(last) + 1));
      await ip('link', 'add', own, 'type', 'veth', 'peer', 'name', link, 'netns', namespace);
      await ip('address', 'add', `${host}/30`, 'dev', own);
      await ip('link', 'set', own, 'up');
      await ip('-n', namespace, 'address', 'add', `${peer}/30`, 'dev', link);
      await ip('-n', namespace, 'link', 'set', link, 'up');
    }
    await ip('-n', namespace, 'route', 'add', this.internet, 'via', internetHost);
    const folder = join(CONFIG_FOLDER, namespace);
    await mkdir(folder, { recursive: true });
    await writeFile(join(folder, 'resolv.conf'), `nameserver ${this.nameServer}\n`);
  }

  /** Returns the network with this name. */
  network(name: string): RegionNetwork {
    const network = this.regions.find(({ region }) => region === name);
    if (network === undefined) throw new Error(`unknown network ${name}`);
    return network;
  }

  /** Cuts a region off from the internet, or only from the gateways. Its stores stay reachable. */
  async cut({ namespace, internetAddress }: RegionNetwork, kind: Exclude<CutKind, 'dns'>): Promise<void> {
    if (kind === 'silent') await ip('route', 'add', 'blackhole', `${internetAddress}/32`);
    else if (kind === 'gateway') await ip('-n', namespace, 'route', 'add', 'blackhole', `${this.gateway}/32`);
    else await ip('-n', namespace, 'route', 'replace', kind, this.internet);
  }

  async restore(
    { namespace, internetHost, internetAddress }: RegionNetwork,
    kind: Exclude<CutKind, 'dns'>,
  ): Promise<void> {
    if (kind === 'silent') await ip('route', 'delete', 'blackhole', `${internetAddress}/32`);
    else if (kind === 'gateway')
      await ip('-n', namespace, 'route', 'delete', 'blackhole', `${this.gateway}/32`);
    else await ip('-n', namespace, 'route', 'replace', this.internet, 'via', internetHost);
  }

  /** Loses a share of the packets between a region and the internet, in each direction. */
  async startLoss({ namespace, interfaces }: RegionNetwork, percent: number): Promise<void> {
    await startPacketLoss([], interfaces.internet, percent);
    await startPacketLoss(['-n', namespace], 'internet', percent);
  }

  async stopLoss({ namespace, interfaces }: RegionNetwork): Promise<void> {
    await run('tc', ['qdisc', 'delete', 'dev', interfaces.internet, 'ingress']);
    await run('tc', ['-n', namespace, 'qdisc', 'delete', 'dev', 'internet', 'ingress']);
  }

  /** Removes everything that exists. The processes in the namespaces must have ended. */
  async remove(): Promise<void> {
    for (const { namespace, interfaces, internetAddress } of this.regions) {
      await ip('route', 'delete', 'blackhole', `${internetAddress}/32`).catch(() => undefined);
      for (const name of Object.values(interfaces)) await ip('link', 'delete', name).catch(() => undefined);
      await removeNamespace(namespace);
    }
  }
}

/**
 * Loses a share of the IP packets that arrive at a device. A sender would notice packets that its own queue drops. Not every kernel has
 * the queue `netem`, which does the same.
 * @param place options of `tc` that select a namespace, or none for this machine
 */
async function startPacketLoss(place: readonly string[], device: string, percent: number): Promise<void> {
  await run('tc', [...place, 'qdisc', 'add', 'dev', device, 'ingress']);
  const limit = Math.round((MAX_UINT32 * percent) / 100);
  // The program loads a random number. If it is above the limit, it skips one instruction. It then drops the packet (TC_ACT_SHOT) or
  // continues (TC_ACT_UNSPEC).
  const program = [`32 0 0 ${RANDOM_NUMBER}`, `37 1 0 ${limit}`, '6 0 0 2', `6 0 0 ${MAX_UINT32}`];
  const bytecode = `${program.length},${program.join(',')}`;
  const filter = ['filter', 'add', 'dev', device, 'ingress', 'protocol', 'ip'];
  await run('tc', [...place, ...filter, 'bpf', 'direct-action', 'bytecode', bytecode]);
}

function chooseBlock(): string {
  const interfaces = Object.values(os.networkInterfaces());
  const used = interfaces.flatMap((all) => (all ?? []).map(({ address }) => address));
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
