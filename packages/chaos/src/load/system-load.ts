import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createChannel } from '@tocsin/db/channels/write-channels';
import { findFreePort } from '@tocsin/embedded/ports';
import type { Teardown } from '@tocsin/embedded/program/teardown';
import { until } from '@tocsin/embedded/testing/until';
import { ADMIN_ENV, signIn, type DashboardRequest } from '@tocsin/lab/dashboard-session';
import { insertMonitors, timeoutSeconds, untilApplied, untilChecked } from '@tocsin/lab/monitors';
import { Random } from '@tocsin/lab/random';
import type { ServiceName, ServiceProcess } from '@tocsin/lab/service-process';
import { Stores } from '@tocsin/lab/stores';
import { System } from '@tocsin/lab/system';
import type { ChannelFacts, MonitorFacts } from '../oracle/record.ts';
import { readBacklog } from '../oracle/read-database.ts';
import { plainMonitor, type TargetState } from '../plan/world.ts';
import { Receivers } from '../world/receivers.ts';
import { Targets } from '../world/targets.ts';
import { ApiClients } from './api-clients.ts';
import { StreamClient } from './stream-client.ts';

export interface LoadOptions {
  readonly seed: number;
  /** Checks a second. */
  readonly rate: number;
  /** Of every monitor, seconds. */
  readonly interval: number;
  readonly checkers: number;
  readonly createdPerSecond: number;
  /** For the Node of each service. */
  readonly nodeOptions?: readonly string[];
}

/** A shutdown by SIGTERM, and the start that may follow. */
export interface Restart {
  readonly name: string;
  /** Null: a signal killed it. */
  readonly exitCode: number | null;
  /** From the signal to its end. */
  readonly stopMs: number;
  /** From its start until it was ready; null if it was not started again. */
  readonly startMs: number | null;
}

const CHANNEL = 'receiver';
/** Monitors whose target goes up and down, and which have a channel. */
const FLAPPING = { share: 0.05, min: 10 } as const;
/** How long such a target keeps its state, in intervals. */
const TURN_INTERVALS = { min: 1.2, max: 4 } as const;
/** Some requests are answered late, so that some are always under way. */
const LATE = { share: 0.1, maxMs: 800 } as const;
/** The receiver takes its time, so that attempts are always under way. */
const MAX_RECEIVER_MS = 600;
const API_CLIENTS = 4;
/** Longer than the first retries of a webhook take. */
const SETTLED_WITHIN_MS = 180_000;
/** A service allows itself 30 s. */
const MAX_STOP_MS = 35_000;

interface LoadParts extends Pick<
  SystemLoad,
  'options' | 'stores' | 'system' | 'services' | 'targets' | 'receivers' | 'channel'
> {
  readonly ids: readonly string[];
  readonly request: DashboardRequest;
}

/** A whole system under load: checks, webhooks, API calls and a live stream all the time. */
export class SystemLoad {
  /** The monitors that are never deleted, by key, in the order of their numbers. */
  readonly monitors: readonly { readonly id: string; readonly key: string }[];
  /** Those whose target goes up and down. */
  readonly flapping: readonly MonitorFacts[];
  /** The ids of all records on the live stream. */
  readonly streamed = new Set<string>();
  /** Planned checks that were missed, by the reason in the metrics of the checkers that were stopped. */
  readonly misses: Record<string, number> = {};
  readonly stops: Restart[] = [];
  readonly clients: ApiClients;
  readonly stream: StreamClient;
  readonly options: LoadOptions;
  readonly stores: Stores;
  readonly system: System;
  readonly services: ReadonlyMap<string, ServiceProcess>;
  readonly targets: Targets;
  readonly receivers: Receivers;
  readonly channel: ChannelFacts;

  private constructor(parts: LoadParts) {
    const { options, system, targets, ids, channel } = parts;
    this.options = options;
    this.stores = parts.stores;
    this.system = system;
    this.services = parts.services;
    this.targets = targets;
    this.receivers = parts.receivers;
    this.channel = channel;
    const { interval } = options;
    this.monitors = ids.map((id, number) => ({ id, key: keyOf(number) }));
    this.flapping = this.monitors.slice(0, channel.plan.monitors?.length).map(({ id, key }, number) => ({
      id,
      plan: {
        ...plainMonitor(key, 'default'),
        failureThreshold: 1,
        intervalSeconds: interval,
        timeoutSeconds: timeoutSeconds(interval),
      },
      initialStatus: 'UP',
      createdAt: 0,
      names: [`Monitor ${number}`],
      thresholds: [],
      deletedAt: null,
    }));
    this.stream = new StreamClient(parts.request, (id) => this.streamed.add(id));
    this.clients = new ApiClients({
      baseUrl: `http://127.0.0.1:${system.apiPort()}`,
      apiKey: system.apiKey,
      seed: options.seed,
      count: API_CLIENTS,
      createdPerSecond: options.createdPerSecond,
      // Not the flapping ones: after an edit, the result of a check under way does not count.
      monitorIds: ids.slice(this.flapping.length),
      targetUrl: targets.url('short-lived'),
    });
  }

  /** Starts everything; resolves when every monitor has been checked and the load is on. */
  static async start(
    options: LoadOptions,
    teardown: Teardown,
    say: (line: string) => void,
  ): Promise<SystemLoad> {
    say('Starting a system …');
    const { seed, rate, interval, checkers, nodeOptions = [] } = options;
    const count = rate * interval;
    const flapping = Math.min(count, Math.max(FLAPPING.min, Math.round(count * FLAPPING.share)));
    const stores = await Stores.start({ name: 'load', teardown });
    const script = new FlappingTargets(seed, flapping, interval);
    const targets = await teardown.start(Targets.start(script), (one) => one.stop());
    const random = new Random(seed, 'receiver');
    const receivers = await teardown.start(
      Receivers.start({ keys: [CHANNEL], delayMs: () => random.next() * MAX_RECEIVER_MS }),
      (one) => one.stop(),
    );
    const caFile = join(stores.folder, 'receiver-ca.pem');
    await writeFile(caFile, receivers.ca);
    const { databaseUrl, queueUrl, folder } = stores;
    // An api keeps its port when it is restarted.
    const fixed = { PORT: String(await findFreePort()), LOG_LEVEL: 'warn', NODE_ENV: 'production' };
    const env = { ...fixed, ...ADMIN_ENV, WEBHOOK_CA_FILE: caFile };
    const system = await teardown.start(System.open({ databaseUrl, queueUrl, folder, env }), (one) =>
      one.close(),
    );
    const names = ['api', 'notifier', ...checkerNames(checkers)];
    const services = new Map(
      names.map((name) => {
        const service = name.split(' ', 1)[0] as ServiceName;
        return [name, system.service(service, {}, { label: name, nodeOptions })];
      }),
    );
    await Promise.all([...services.values()].map((service) => service.start()));
    say(`Creating ${count} monitors …`);
    // Inserted: many that are created at once by the API may create one wave twice, and its first check with it.
    const ids = await insertMonitors(system, {
      count,
      intervalSeconds: interval,
      url: (number) => targets.url(keyOf(number)),
    });
    const { id, secret } = await createChannel(system.context, {
      accountId: system.context.accountId,
      name: CHANNEL,
      url: receivers.url(CHANNEL, '127.0.0.1'),
      monitorIds: ids.slice(0, flapping),
    });
    const keys = Array.from({ length: flapping }, (_, number) => keyOf(number));
    const channel: ChannelFacts = { id, secret, plan: { key: CHANNEL, kind: 'steady', monitors: keys } };
    const request = await signIn({ port: system.apiPort() });
    await untilApplied(system);
    await untilChecked(system);
    const parts = { options, stores, system, services, targets, receivers, channel };
    const load = new SystemLoad({ ...parts, ids, request });
    script.begin();
    teardown.onStop(() => Promise.all([load.clients.stop(), load.stream.stop()]));
    return load;
  }

  /** Shuts a service down, and starts it again if asked to. */
  async stopService(name: string, { restart }: { readonly restart: boolean }): Promise<void> {
    const service = this.services.get(name);
    if (service === undefined) throw new Error(`unknown service ${name}`);
    for (const [reason, count] of await readMisses(service)) {
      this.misses[reason] = (this.misses[reason] ?? 0) + count;
    }
    const signalledAt = performance.now();
    const timer = setTimeout(() => void service.signal('SIGKILL'), MAX_STOP_MS);
    const exitCode = await service.signal('SIGTERM');
    clearTimeout(timer);
    const stopMs = performance.now() - signalledAt;
    const startedAt = performance.now();
    if (restart) await service.start();
    this.stops.push({ name, exitCode, stopMs, startMs: restart ? performance.now() - startedAt : null });
  }

  /**
   * Ends the load, and shuts all services down once every check is recorded and every webhook is delivered.
   * @param to the end of the time under load, epoch milliseconds
   * @param beforeApi called before notifier and api stop
   */
  async finish(to: number, beforeApi: () => Promise<void> = () => Promise.resolve()): Promise<void> {
    const ids = this.monitors.map(({ id }) => id);
    await untilChecked(this.system, to, ids);
    await this.clients.stop();
    for (const name of checkerNames(this.options.checkers)) await this.stopService(name, { restart: false });
    // No more webhooks become due.
    let left = {};
    const isSettled = async (): Promise<boolean> => {
      const [pending] = await this.stores.query<{ count: number }>(
        `select count(*)::int as count from deliveries where state = 'pending'`,
      );
      left = { ...(await readBacklog(this.stores)), pending: pending?.count ?? 0 };
      return Object.values(left).every((count) => count === 0);
    };
    await until('every webhook to be delivered', isSettled, SETTLED_WITHIN_MS).catch((error: unknown) => {
      throw new Error(`Work is left: ${JSON.stringify(left)}`, { cause: error });
    });
    await beforeApi();
    await this.stream.stop();
    for (const name of ['notifier', 'api']) await this.stopService(name, { restart: false });
  }
}

export function checkerNames(count: number): string[] {
  return Array.from({ length: count }, (_, index) => `checker ${index + 1}`);
}

function keyOf(number: number): string {
  return `monitor-${number}`;
}

/** Planned checks that a checker missed, by reason. Other services have none. */
async function readMisses(service: ServiceProcess): Promise<[string, number][]> {
  const lines = (await service.metrics()).matchAll(
    /^tocsin_checks_missed_total\{.*reason="(\w+)"\} (\d+)$/gm,
  );
  return [...lines].map(([, reason = '', count]) => [reason, Number(count)]);
}

/** The first targets go up and down in turns of their own length, the others are always up. Some responses are late. */
class FlappingTargets {
  readonly #turnsMs: readonly number[];
  readonly #random: Random;
  #startedAt = Infinity;

  constructor(seed: number, count: number, intervalSeconds: number) {
    this.#random = new Random(seed, 'targets');
    const { min, max } = TURN_INTERVALS;
    const intervalMs = intervalSeconds * 1_000;
    this.#turnsMs = Array.from(
      { length: count },
      () => (min + this.#random.next() * (max - min)) * intervalMs,
    );
  }

  begin(): void {
    this.#startedAt = Date.now();
  }

  readonly stateOf = (key: string): TargetState => {
    const turnMs = this.#turnsMs[Number(/^monitor-(\d+)$/.exec(key)?.[1])];
    const elapsedMs = Date.now() - this.#startedAt;
    if (turnMs === undefined || elapsedMs < 0) return 'up';
    return Math.floor(elapsedMs / turnMs) % 2 === 1 ? 'down' : 'up';
  };

  readonly delayMs = (): number => (this.#random.chance(LATE.share) ? this.#random.next() * LATE.maxMs : 0);
}
