import { mkdir, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import type { WebhookEvent } from '@tocsin/contracts/vocabulary';
import { systemActor } from '@tocsin/db/audit-log/actor';
import { createChannel } from '@tocsin/db/channels/write-channels';
import { createCertificate } from '@tocsin/embedded/certificates';
import { insertMonitors, untilApplied, untilChecked, untilScheduled } from '@tocsin/lab/monitors';
import type { ProgramName, ServiceProcess, ServiceProcessOptions } from '@tocsin/lab/service-process';
import { Stores } from '@tocsin/lab/stores';
import { System } from '@tocsin/lab/system';
import { Redis } from 'ioredis';
import { readUsage, type Usages } from './measure/proc.ts';
import { HelperProcess } from './processes/helper-process.ts';
import type { TargetMessage } from './processes/target.ts';
import type { Bench } from './scenarios/scenario.ts';

const EVENTS: readonly WebhookEvent[] = ['monitor.down', 'monitor.up'];

type Env = Readonly<Record<string, string>>;
type Launch = Pick<ServiceProcessOptions, 'launcher'>;

interface StageOptions extends Pick<Bench['options'], 'protocol' | 'queue'> {
  readonly partitionMinutes?: number;
  /** Response time of the webhook receiver. Defaults to 0. */
  readonly receiverMs?: number;
}

/** A webhook receiver as a separate process. */
export interface Receiver {
  readonly process: HelperProcess<TargetMessage>;
  readonly url: string;
  readonly ca: string;
}

type Environment = Awaited<ReturnType<typeof startEnvironment>>;
export type Stage = Environment & Awaited<ReturnType<typeof manageServices>>;

/** Starts durable stores, a target and webhook receivers. No service runs until it is started. */
export async function openStage(bench: Bench, options: StageOptions = {}): Promise<Stage> {
  bench.say('Starting a system …');
  const environment = await startEnvironment(bench, options);
  return { ...environment, ...(await manageServices(bench, environment)) };
}

async function startEnvironment(
  bench: Bench,
  { protocol = 'http', queue = 'redis', receiverMs = 0, ...history }: StageOptions,
) {
  const { teardown } = bench;
  const stores = await Stores.start({ name: 'bench', queue, ...history, teardown });
  const { folder, databaseUrl, queueUrl } = stores;
  const redis = queue === 'redis' ? new Redis(queueUrl) : null;
  teardown.onStop(async () => redis?.disconnect());
  const target = await startTarget(bench);
  const tls = protocol === 'https' ? await createCertificate(['127.0.0.1']) : null;
  const port = await target.request<number>({ type: 'listen', tls });
  const [receiver, otherReceiver] = await Promise.all([
    startReceiver(bench, receiverMs),
    startReceiver(bench, 0),
  ]);
  const caFile = join(folder, 'ca.pem');
  const authorities = [receiver, otherReceiver, ...(tls === null ? [] : [tls])];
  await writeFile(caFile, authorities.map(({ ca }) => ca).join('\n'));
  const env = {
    NODE_ENV: 'production',
    LOG_LEVEL: 'warn',
    WEBHOOK_CA_FILE: caFile,
    ...(tls && { CHECK_CA_FILE: caFile }),
  };
  const opening = System.open({ databaseUrl, queueUrl, folder, env });
  return {
    system: await teardown.start(opening, (one) => one.close()),
    stores,
    /** Null if the queue is on Postgres. */
    redis,
    target,
    /** Without a path. */
    targetUrl: `${protocol}://127.0.0.1:${port}`,
    /** PEM, or null for http. */
    targetCa: tls?.ca ?? null,
    caFile,
    receiver,
    /** Responds at once. */
    otherReceiver,
  };
}

async function manageServices(bench: Bench, { system, stores, redis, target, targetUrl }: Environment) {
  const { profile } = bench.options;
  const services = new Map<string, ServiceProcess>();
  const otherPrograms = new Map([['target', target.pid]]);
  const profileOptions = await openProfiles(bench);
  const running = (service: ProgramName): ServiceProcess[] =>
    [...services.values()].filter(({ name }) => name === service);
  const stopServices = async (service: ProgramName): Promise<void> => {
    await Promise.all(running(service).map((one) => one.signal('SIGTERM')));
    for (const [name, one] of services) if (one.name === service) services.delete(name);
  };
  // Node.js writes a profile only at a clean exit.
  if (profile !== undefined) bench.teardown.onStop(() => stopServices(profile));
  const startService = async (name: string, env: Env = {}, options: Launch = {}): Promise<ServiceProcess> => {
    const service = name.split(' ', 1)[0] as ProgramName;
    const nodeOptions = profile === service ? profileOptions : [];
    const started = system.service(service, env, { label: name, nodeOptions, ...options });
    await started.start();
    services.set(name, started);
    return started;
  };
  const startCheckers = async (count: number, env: Env = {}, options: Launch = {}): Promise<void> => {
    const names = Array.from({ length: count }, (_, index) => `checker ${index + 1}`);
    await Promise.all(names.map((name) => startService(name, env, options)));
  };
  const insertTargets = (count: number, intervalSeconds: number, flipping = 0): Promise<string[]> => {
    const url = (number: number): string => `${targetUrl}/${number < flipping ? 'f' : 'm'}/${number}`;
    return insertMonitors(system, { count, intervalSeconds, url });
  };
  const untilAllScheduled = (): Promise<void> =>
    redis === null ? untilApplied(system) : untilScheduled(system, redis);
  return {
    /** Starts a service by a name such as `notifier`, with these settings besides those of every service. */
    startService,
    startCheckers,
    /** Starts one api, one notifier, and this many checkers. */
    startAll: async (checkers: number): Promise<void> => {
      await Promise.all([startService('api'), startService('notifier'), startCheckers(checkers)]);
    },
    running,
    stopServices,
    /** Adds a program that is not part of Tocsin to the usage. */
    addProgram: (name: string, pid: number): void => void otherPrograms.set(name, pid),
    /** Returns the usage of every program, by name. */
    usage: (): Usages => {
      const pids = [...services].map(([name, { pid }]) => [name, pid] as const);
      return readUsage(new Map([...stores.pids, ...otherPrograms, ...pids]));
    },
    /** Inserts monitors of the target, the first ones of paths that can flip. @returns their ids */
    insertMonitors: insertTargets,
    /** Waits until the queue has the schedule of every monitor. */
    untilScheduled: untilAllScheduled,
    /** Inserts monitors, and waits until each is scheduled and checked. @returns their ids */
    checkMonitors: async (...monitors: Parameters<typeof insertTargets>): Promise<string[]> => {
      bench.say(`Scheduling ${monitors[0]} monitors …`);
      const ids = await insertTargets(...monitors);
      await untilAllScheduled();
      await untilChecked(system);
      return ids;
    },
    /** Sends the alerts of all monitors of an account to a receiver. */
    alertAll: async (accountId: string, { url }: Receiver): Promise<void> => {
      const channel = { name: 'alerts', url, monitorIds: [], allMonitors: true, events: [...EVENTS] };
      await createChannel(system.context, systemActor(accountId), channel);
    },
  };
}

function startTarget({ teardown }: Bench): Promise<HelperProcess<TargetMessage>> {
  return teardown.start(HelperProcess.start<TargetMessage>('target'), (one) => one.stop());
}

async function startReceiver(bench: Bench, webhookDelayMs: number): Promise<Receiver> {
  const { ca, ...tls } = await createCertificate(['127.0.0.1']);
  const process = await startTarget(bench);
  const port = await process.request<number>({ type: 'listen', tls, webhookDelayMs });
  return { process, ca, url: `https://127.0.0.1:${port}/hook` };
}

/** @returns the options of Node.js that write CPU profiles into a new folder */
async function openProfiles({ options: { profile }, say }: Bench): Promise<string[]> {
  if (profile === undefined) return [];
  const folder = resolve(process.env['DATA_DIR'] ?? '.data', `profiles-${Date.now()}`);
  await mkdir(folder, { recursive: true });
  say(`The CPU profiles will be in ${folder}`);
  return ['--cpu-prof', `--cpu-prof-dir=${folder}`];
}
