import { systemActor } from '@tocsin/db/audit-log/actor';
import { createChannel } from '@tocsin/db/channels/write-channels';
import { findFreePort } from '@tocsin/embedded/ports';
import type { Teardown } from '@tocsin/embedded/program/teardown';
import { until } from '@tocsin/embedded/testing/until';
import { bearer } from '@tocsin/lab/api-client';
import { say } from '@tocsin/lab/command';
import { openSession } from '@tocsin/lab/dashboard-session';
import { number, text, type ValuesOf } from '@tocsin/lab/options';
import { insertMonitors, timeoutSeconds, untilApplied, untilChecked } from '@tocsin/lab/monitors';
import { Random } from '@tocsin/lab/random';
import type { ServiceName, ServiceProcess } from '@tocsin/lab/service-process';
import type { ChannelFacts, MonitorFacts } from '../oracle/record.ts';
import { plainMonitor, type TargetState } from '../plan/world.ts';
import { startSystem, type StartedSystem } from '../world/start-system.ts';
import { ApiClients } from './api-clients.ts';
import { keepEvents } from './stalls.ts';
import { StreamClient } from './stream-client.ts';

/** The options of each command that runs a system under load. */
export const LOAD_OPTIONS = {
  rate: number('checks per second', 300, { min: 10, max: 2_000 }),
  interval: number('check interval in seconds', 5, { min: 5, max: 300 }),
  seed: number('seed of all random choices', 1, { min: 1, max: 2 ** 31 }),
  json: text('writes the result to a file', 'FILE'),
};

export interface LoadOptions extends Omit<ValuesOf<typeof LOAD_OPTIONS>, 'json'> {
  readonly checkers: number;
  readonly createdPerSecond: number;
  /** Whether Redis keeps all events of the queues, to find stalled jobs. */
  readonly findsStalls?: boolean;
  /** Node.js options of each service. */
  readonly nodeOptions?: readonly string[];
}

const CHANNEL = 'receiver';
/** Monitors whose target goes up and down, and which have a channel. */
const FLAPPING = { share: 0.05, min: 10 } as const;
/** How long such a target keeps its state, in intervals. */
const TURN_INTERVALS = { min: 1.2, max: 4 } as const;
/** Some responses are late, so that some requests are always under way. */
const LATE = { share: 0.1, maxMs: 800 } as const;
/** The receiver responds slowly, so that attempts are always under way. */
const MAX_RECEIVER_MS = 600;
/** Longer than the 30 s after which a service ends itself. */
const MAX_STOP_MS = 35_000;
const MISSES = /^tocsin_checks_missed_total\{.*reason="(\w+)"\} (\d+)$/gm;

/** A whole system under load: checks, webhooks, API calls and a live stream all the time. */
export interface Load extends StartedSystem {
  readonly options: LoadOptions;
  readonly services: ReadonlyMap<string, ServiceProcess>;
  /** The monitors that are never deleted, in the order of their numbers. */
  readonly monitors: readonly { readonly id: string; readonly key: string }[];
  /** Those whose target goes up and down. */
  readonly flapping: readonly MonitorFacts[];
  readonly channel: ChannelFacts;
  readonly clients: ApiClients;
  readonly stream: StreamClient;
  /** The ids of all records on the live stream. */
  readonly streamed: ReadonlySet<string>;
  /** Planned checks that were missed, by the reason in the metrics of the checkers that were stopped. */
  readonly misses: Record<string, number>;
  /** Shutdowns by SIGTERM, and the starts that may follow. */
  readonly stops: {
    readonly name: string;
    /** Null: a signal killed it. */
    readonly exitCode: number | null;
    /** From the signal to its end. */
    readonly stopMs: number;
    /** From its start until it was ready; null if it was not started again. */
    readonly startMs: number | null;
  }[];
  /** When the full load began, epoch milliseconds. */
  readonly startedAt: number;
}

/** Starts everything. Resolves when every monitor has been checked and the full load runs. */
export async function startLoad(options: LoadOptions, teardown: Teardown): Promise<Load> {
  say('Starting a system …');
  const { seed, rate, interval, checkers, nodeOptions = [] } = options;
  const keys = Array.from({ length: rate * interval }, (_, number) => `monitor-${number}`);
  const flappingKeys = keys.slice(0, Math.max(FLAPPING.min, Math.round(keys.length * FLAPPING.share)));
  const random = new Random(seed, 'receiver');
  const script = flappingTargets(seed, flappingKeys, interval);
  const started = await startSystem(
    {
      name: 'load',
      targets: script,
      receivers: { keys: [CHANNEL], delayMs: () => random.next() * MAX_RECEIVER_MS },
      // An api keeps its port when it is restarted.
      env: { PORT: String(await findFreePort()), LOG_LEVEL: 'warn' },
    },
    teardown,
  );
  const { system, stores, targets, receivers } = started;
  if (options.findsStalls) await stores.withRedis(keepEvents);
  const services = new Map(
    ['api', 'notifier', ...checkerNames(checkers)].map((label) => {
      const service = label.split(' ', 1)[0] as ServiceName;
      return [label, system.service(service, {}, { label, nodeOptions })];
    }),
  );
  await Promise.all([...services.values()].map((service) => service.start()));
  say(`Creating ${keys.length} monitors …`);
  // Inserted, because the API may create a wave and its first check twice when it creates many monitors at once.
  const ids = await insertMonitors(system, {
    count: keys.length,
    intervalSeconds: interval,
    url: (number) => targets.url(keys[number] ?? ''),
  });
  const monitors = ids.map((id, number) => ({ id, key: keys[number] ?? '' }));
  const flapping = monitors
    .slice(0, flappingKeys.length)
    .map((monitor, number) => flappingMonitor(monitor, number, interval));
  const { id, secret } = await createChannel(system.context, systemActor(system.context.accountId), {
    name: CHANNEL,
    url: receivers.url(CHANNEL, '127.0.0.1'),
    monitorIds: ids.slice(0, flapping.length),
  });
  await untilApplied(system);
  await untilChecked(system);
  const streamed = new Set<string>();
  const { request } = await openSession({ port: system.apiPort() });
  const stream = new StreamClient(request, (one) => streamed.add(one));
  const clients = new ApiClients({
    baseUrl: `http://127.0.0.1:${system.apiPort()}`,
    headers: bearer(system.apiKey),
    seed,
    createdPerSecond: options.createdPerSecond,
    // Not the flapping ones: after an edit, the result of a check under way does not count.
    monitorIds: ids.slice(flapping.length),
    targetUrl: targets.url('short-lived'),
  });
  teardown.onStop(() => Promise.all([clients.stop(), stream.stop()]));
  script.begin();
  await until('the live stream to open', () => stream.tally.opened > 0);
  return {
    ...started,
    options,
    services,
    monitors,
    flapping,
    channel: { id, secret, plan: { key: CHANNEL, kind: 'steady', monitors: flappingKeys }, rescoped: [] },
    clients,
    stream,
    streamed,
    misses: {},
    stops: [],
    startedAt: Date.now(),
  };
}

function flappingMonitor(
  { id, key }: { readonly id: string; readonly key: string },
  number: number,
  intervalSeconds: number,
): MonitorFacts {
  const plan = {
    ...plainMonitor(key, 'default'),
    failureThreshold: 1,
    recoveryThreshold: 1,
    retryIntervalSeconds: null,
    intervalSeconds,
    timeoutSeconds: timeoutSeconds(intervalSeconds),
  };
  const names = [`Monitor ${number}`];
  const edits = { names, thresholds: [], relabeled: [] };
  return { id, plan, initialStatus: 'UP', createdAt: 0, ...edits, deletedAt: null };
}

/** Shuts a service down, and starts it again if `restart` is set. */
export async function stopService(
  { services, misses, stops }: Load,
  name: string,
  { restart }: { readonly restart: boolean },
): Promise<void> {
  const service = services.get(name);
  if (service === undefined) throw new Error(`unknown service ${name}`);
  for (const [, reason = '', count] of (await service.metrics()).matchAll(MISSES)) {
    misses[reason] = (misses[reason] ?? 0) + Number(count);
  }
  const signalledAt = performance.now();
  const timer = setTimeout(() => void service.signal('SIGKILL'), MAX_STOP_MS);
  const exitCode = await service.signal('SIGTERM');
  clearTimeout(timer);
  const startedAt = performance.now();
  if (restart) await service.start();
  const startMs = restart ? performance.now() - startedAt : null;
  stops.push({ name, exitCode, stopMs: startedAt - signalledAt, startMs });
}

export function checkerNames(count: number): string[] {
  return Array.from({ length: count }, (_, index) => `checker ${index + 1}`);
}

interface Script {
  readonly stateOf: (key: string) => TargetState;
  readonly delayMs: () => number;
  readonly begin: () => void;
}

/** After `begin`, these targets go up and down, each in turns of its own length. The others are always up. Some responses are late. */
function flappingTargets(seed: number, keys: readonly string[], intervalSeconds: number): Script {
  const random = new Random(seed, 'targets');
  const { min, max } = TURN_INTERVALS;
  const turnsMs = new Map(
    keys.map((key) => [key, (min + random.next() * (max - min)) * intervalSeconds * 1_000]),
  );
  let startedAt = Infinity;
  return {
    begin: () => void (startedAt = Date.now()),
    stateOf: (key) => {
      const turnMs = turnsMs.get(key);
      const elapsedMs = Date.now() - startedAt;
      if (turnMs === undefined || elapsedMs < 0) return 'up';
      return Math.floor(elapsedMs / turnMs) % 2 === 1 ? 'down' : 'up';
    },
    delayMs: () => (random.chance(LATE.share) ? random.next() * LATE.maxMs : 0),
  };
}
