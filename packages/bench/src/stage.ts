import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createCertificate } from '@tocsin/embedded/certificates';
import { WebhookReceiver } from '@tocsin/embedded/local-web/webhook-receiver';
import { insertMonitors } from '@tocsin/lab/monitors';
import type { ServiceName, ServiceProcess, ServiceProcessOptions } from '@tocsin/lab/service-process';
import { Stores, type StoresOptions } from '@tocsin/lab/stores';
import { System } from '@tocsin/lab/system';
import { Redis } from 'ioredis';
import { readUsage, type Usage } from './measure/proc.ts';
import type { Span } from '@tocsin/lab/slots';
import { HelperProcess } from './processes/helper-process.ts';
import type { TargetMessage } from './processes/web-target.ts';
import { profileTop } from './profile/cpu-profile.ts';
import type { Bench, Measurement } from './scenarios/scenario.ts';

type StageOptions = Pick<Bench['options'], 'protocol' | 'queue'> & Pick<StoresOptions, 'partitionMinutes'>;
export type Stage = Awaited<ReturnType<typeof createStage>>;

/** Starts durable stores, targets and a webhook receiver. No service runs until it is started. */
export function openStage(bench: Bench, options: StageOptions = {}): Promise<Stage> {
  bench.say('Starting a system …');
  return createStage(bench, options);
}

async function createStage(
  { teardown, options: { profile } }: Bench,
  { protocol = 'http', queue = 'redis', ...history }: StageOptions,
) {
  const stores = await Stores.start({ name: 'bench', queue, ...history, teardown });
  const { folder, databaseUrl, queueUrl } = stores;
  const redis = queue === 'redis' ? new Redis(queueUrl) : null;
  teardown.onStop(async () => redis?.disconnect());
  const target = await teardown.start(HelperProcess.start<TargetMessage>('web-target'), (one) => one.stop());
  const tls = protocol === 'https' ? await createCertificate(['127.0.0.1']) : null;
  const { port } = await target.request<{ port: number }>({ type: 'start', tls });
  const targetUrl = `${protocol}://127.0.0.1:${port}`;
  const receiver = await teardown.start(WebhookReceiver.start(), (one) => one.stop());
  const caFile = join(folder, 'ca.pem');
  await writeFile(caFile, `${receiver.ca}\n${tls?.ca ?? ''}`);
  const env: Record<string, string> = {
    NODE_ENV: 'production',
    LOG_LEVEL: 'warn',
    WEBHOOK_CA_FILE: caFile,
    ...(tls && { CHECK_CA_FILE: caFile }),
  };
  const opening = System.open({ databaseUrl, queueUrl, folder, env });
  const system = await teardown.start(opening, (one) => one.close());

  const profileFolder = join(folder, 'profiles');
  const services = new Map<string, ServiceProcess>();
  const otherPrograms = new Map<string, number>([['web-target', target.pid]]);
  const startService = async (
    name: string,
    serviceEnv: Record<string, string> = {},
    options: Pick<ServiceProcessOptions, 'launcher'> = {},
  ): Promise<ServiceProcess> => {
    const service = name.split(' ', 1)[0] as ServiceName;
    const nodeOptions = profile === service ? ['--cpu-prof', `--cpu-prof-dir=${profileFolder}`] : [];
    const started = system.service(service, serviceEnv, { label: name, nodeOptions, ...options });
    await started.start();
    services.set(name, started);
    return started;
  };
  const running = (service: ServiceName): ServiceProcess[] =>
    [...services.values()].filter(({ name }) => name === service);
  const stopServices = async (service: ServiceName): Promise<void> => {
    await Promise.all(running(service).map((one) => one.signal('SIGTERM')));
    for (const [name, one] of services) if (one.name === service) services.delete(name);
  };
  return {
    system,
    /** Null if the queue is on Postgres. */
    redis,
    target,
    /** Without a path. */
    targetUrl,
    /** PEM; null for http. */
    targetCa: tls?.ca ?? null,
    /** A file that contains it; null for http. */
    targetCaFile: tls === null ? null : caFile,
    receiver,
    /** Starts a service by a name such as `checker 1`, with these settings besides those of every service. */
    startService,
    /** Starts one api, one notifier, and this many checkers. */
    startAll: async (checkers: number): Promise<void> => {
      const numbers = Array.from({ length: checkers }, (_, index) => `checker ${index + 1}`);
      await Promise.all(['api', 'notifier', ...numbers].map((name) => startService(name)));
    },
    running,
    /** Adds a program that is not part of Tocsin to the usage. */
    addProgram: (name: string, pid: number): void => void otherPrograms.set(name, pid),
    /** Shuts down all replicas of a service. */
    stopServices,
    /** The usage of every program, by name. */
    usage: (): Map<string, Usage> => {
      const pids = [...services].map(([name, { pid }]) => [name, pid] as const);
      return readUsage(new Map([...stores.pids, ...otherPrograms, ...pids]));
    },
    /** Inserts monitors of the target's paths. @returns their ids */
    insertMonitors: (count: number, intervalSeconds: number): Promise<string[]> =>
      insertMonitors(system, { count, intervalSeconds, url: (number) => `${targetUrl}/m/${number}` }),
    /** Shuts down the profiled service. @returns its profile over a span of the monotonic clock; nothing without `--profile` */
    profileNotes: async (clock: MeasuredWindow['clock']): Promise<Pick<Measurement, 'notes'>> => {
      if (profile === undefined) return {};
      await stopServices(profile);
      return { notes: await profileTop(profileFolder, clock) };
    },
  };
}

/** The usage of the programs while some work was done: CPU time of the span, memory at its end. */
export interface MeasuredWindow<Result = void> {
  readonly result: Result;
  /** Epoch milliseconds. */
  readonly span: Span;
  /** The same on the monotonic clock, in nanoseconds. */
  readonly clock: { readonly from: bigint; readonly to: bigint };
  readonly usage: ReadonlyMap<string, Usage>;
}

export async function measureUsage<Result>(
  stage: Stage,
  work: () => Promise<Result>,
): Promise<MeasuredWindow<Result>> {
  const before = stage.usage();
  const [from, clockFrom] = [Date.now(), process.hrtime.bigint()];
  const result = await work();
  const used = [...stage.usage()].map(([name, { cpuMs, rssBytes }]): [string, Usage] => [
    name,
    { cpuMs: cpuMs - (before.get(name)?.cpuMs ?? 0), rssBytes },
  ]);
  return {
    result,
    span: { from, to: Date.now() },
    clock: { from: clockFrom, to: process.hrtime.bigint() },
    usage: new Map(used),
  };
}
