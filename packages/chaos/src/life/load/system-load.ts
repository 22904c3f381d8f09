import { insertMonitors } from '@tocsin/bench/lab/create-monitors';
import { Lab, type RunningService } from '@tocsin/bench/lab/lab';
import { untilApplied, untilChecked } from '@tocsin/bench/lab/wait-until';
import { createChannel } from '@tocsin/db/channels/write-channels';
import { ADMIN_ENV, signIn } from '@tocsin/lab/dashboard-session';
import type { ServiceName } from '@tocsin/lab/service-process';
import { PUBLIC_URL } from '@tocsin/lab/dashboard-session';
import { WebhookReceiver } from '@tocsin/embedded/local-web/webhook-receiver';
import type { Teardown } from '@tocsin/embedded/program/teardown';
import { Random } from '../../plan/random.ts';
import { ApiClients } from './api-clients.ts';
import { readMisses } from './read-misses.ts';
import { ScriptedTarget, type TargetScript } from './scripted-target.ts';
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

const FLAPPING_SHARE = 0.05;
const FEWEST_FLAPPING = 10;
/** How many intervals a target that goes up and down is either at a time. */
const TURN_INTERVALS = { least: 1.2, most: 4 } as const;
/** The receiver takes its time, so that attempts are always under way. */
const SLOWEST_RECEIVER_MS = 600;
const API_CLIENTS = 4;

/** A whole system under load: checks, webhooks, calls of the API and a live stream all the time. */
export class SystemLoad {
  readonly lab: Lab;
  readonly target: ScriptedTarget;
  readonly receiver: WebhookReceiver;
  readonly options: LoadOptions;
  /** The monitors that stay, in the order of their targets; the first `flapping` of them go up and down. */
  readonly monitorIds: readonly string[];
  readonly flapping: number;
  /** The ids of all records that the live stream brought. */
  readonly streamed = new Set<string>();
  /** Planned checks that were missed, by the reason that their checkers gave; see `noteMisses`. */
  readonly misses: Record<string, number> = {};
  readonly clients: ApiClients;
  readonly stream: StreamClient;
  readonly #services: ServiceStarter;

  private constructor(
    parts: Pick<SystemLoad, 'lab' | 'target' | 'receiver' | 'options' | 'monitorIds' | 'flapping'>,
    services: ServiceStarter,
    request: ConstructorParameters<typeof StreamClient>[0],
  ) {
    this.lab = parts.lab;
    this.target = parts.target;
    this.receiver = parts.receiver;
    this.options = parts.options;
    this.monitorIds = parts.monitorIds;
    this.flapping = parts.flapping;
    this.#services = services;
    this.stream = new StreamClient(request, (id) => this.streamed.add(id));
    this.clients = new ApiClients({
      baseUrl: this.lab.baseUrl,
      apiKey: this.lab.apiKey,
      seed: this.options.seed,
      count: API_CLIENTS,
      createdPerSecond: this.options.createdPerSecond,
      // Not those that go up and down: a change would make the result of a check under way count for nothing.
      monitorIds: this.monitorIds.slice(this.flapping),
      targetUrl: this.target.url(this.monitorIds.length),
    });
    this.target.flap();
  }

  /** Starts everything; resolves when every monitor has been checked and the load is on. */
  static async start(
    options: LoadOptions,
    teardown: Teardown,
    say: (line: string) => void,
  ): Promise<SystemLoad> {
    say('Starting a system of its own …');
    const { nodeOptions = [] } = options;
    const lab = await Lab.open({ queue: 'redis', profile: null, nodeOptions }, teardown);
    const count = options.rate * options.interval;
    const flapping = Math.min(count, Math.max(FEWEST_FLAPPING, Math.round(count * FLAPPING_SHARE)));
    const target = await teardown.start(ScriptedTarget.start(scriptOf(options, flapping)), (one) =>
      one.stop(),
    );
    const receiver = await teardown.start(slowReceiver(options.seed), (one) => one.stop());
    const services = new ServiceStarter(lab, await lab.writeFile('receiver-ca.pem', receiver.ca));
    const names = ['api', 'notifier', ...checkerNames(options.checkers)];
    await Promise.all(names.map((name) => services.start(name)));
    say(`Making ${count} monitors …`);
    // Many that are made at once by the API may make one wave twice, and its first check with it.
    const monitorIds = await insertMonitors(lab, {
      count,
      intervalSeconds: options.interval,
      url: (number) => target.url(number),
    });
    await createChannel(lab.context, {
      accountId: lab.context.accountId,
      name: 'receiver',
      url: receiver.url('/hook'),
      monitorIds: monitorIds.slice(0, flapping),
    });
    const request = await signIn({ port: Number(new URL(lab.baseUrl).port) });
    await untilApplied(lab);
    await untilChecked(lab);
    const parts = { lab, target, receiver, options, monitorIds, flapping };
    const load = new SystemLoad(parts, services, request);
    teardown.onStop(() => Promise.all([load.clients.stop(), load.stream.stop()]));
    return load;
  }

  /** What runs, by name. */
  get services(): ReadonlyMap<string, RunningService> {
    return this.#services.running;
  }

  /** Asks a service that is to be stopped why planned checks were missed: only a checker knows any. */
  async noteMisses({ healthPort }: RunningService): Promise<void> {
    for (const [reason, count] of await readMisses(healthPort)) {
      this.misses[reason] = (this.misses[reason] ?? 0) + count;
    }
  }

  /** Starts a service that was stopped. */
  async startService(name: string): Promise<void> {
    await this.#services.start(name);
  }
}

function scriptOf({ seed, interval }: LoadOptions, flapping: number): TargetScript {
  const { least, most } = TURN_INTERVALS;
  return { seed, flapping, turnMs: { least: least * interval * 1_000, most: most * interval * 1_000 } };
}

export function checkerNames(count: number): string[] {
  return Array.from({ length: count }, (_, index) => `checker ${index + 1}`);
}

/** Starts services by name, as `api` or `checker 2`. */
class ServiceStarter {
  readonly running = new Map<string, RunningService>();
  readonly #lab: Lab;
  readonly #receiverCaFile: string;

  constructor(lab: Lab, receiverCaFile: string) {
    this.#lab = lab;
    this.#receiverCaFile = receiverCaFile;
  }

  async start(name: string): Promise<void> {
    const service = name.split(' ', 1)[0] as ServiceName;
    const env = { PUBLIC_URL, ...ADMIN_ENV, WEBHOOK_CA_FILE: this.#receiverCaFile };
    this.running.set(name, await this.#lab.startService(service, env, name));
  }
}

async function slowReceiver(seed: number): Promise<WebhookReceiver> {
  const random = new Random(seed, 'receiver');
  return WebhookReceiver.start((_, response) => {
    setTimeout(() => response.writeHead(200).end('thanks'), random.next() * SLOWEST_RECEIVER_MS);
  });
}
