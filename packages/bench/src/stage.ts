import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { createCertificate } from '@tocsin/embedded/certificates';
import { WebhookReceiver } from '@tocsin/embedded/local-web/webhook-receiver';
import { insertMonitors } from '@tocsin/lab/monitors';
import type { ServiceName, ServiceProcess } from '@tocsin/lab/service-process';
import { Stores } from '@tocsin/lab/stores';
import { System } from '@tocsin/lab/system';
import { Redis } from 'ioredis';
import { readUsage, type Usage } from './measure/proc.ts';
import type { Span } from './measure/slots.ts';
import { HelperProcess } from './processes/helper-process.ts';
import type { TargetMessage } from './processes/web-target.ts';
import type { Bench } from './scenarios/scenario.ts';

export interface StageOptions {
  /** Of the targets; default http. */
  readonly protocol?: 'http' | 'https';
  /** Default redis. */
  readonly queue?: 'redis' | 'postgres';
}

/** Durable stores, targets and a webhook receiver; services run when they are started. */
export interface Stage {
  readonly system: System;
  /** Null if the queue is on Postgres. */
  readonly redis: Redis | null;
  readonly target: HelperProcess<TargetMessage>;
  /** Without a path. */
  readonly targetUrl: string;
  /** PEM; null for http. */
  readonly targetCa: string | null;
  readonly receiver: WebhookReceiver;
  /** Where profiled processes write their profiles when they end. */
  readonly profileFolder: string;
  /** The services that run, by name, such as `checker 1`. */
  readonly services: ReadonlyMap<string, ServiceProcess>;
  startService(name: string): Promise<ServiceProcess>;
  /** Starts one api, one notifier, and so many checkers. */
  startAll(checkers: number): Promise<void>;
  /** Shuts services down. */
  stopServices(names: readonly string[]): Promise<void>;
  checkers(): ServiceProcess[];
  /** The usage of every program, by name. */
  usage(): Map<string, Usage>;
  /** Inserts monitors of the target's paths. @returns their ids */
  insertMonitors(count: number, intervalSeconds: number): Promise<string[]>;
}

export async function openStage(bench: Bench, options: StageOptions = {}): Promise<Stage> {
  const { teardown, profile } = bench;
  const { protocol = 'http', queue = 'redis' } = options;
  bench.say('Starting a system …');
  const stores = await Stores.start({ name: 'bench', queue, teardown });
  const { folder, databaseUrl, queueUrl } = stores;
  const redis = queue === 'redis' ? new Redis(queueUrl) : null;
  teardown.onStop(async () => redis?.disconnect());
  const target = await teardown.start(HelperProcess.start<TargetMessage>('web-target'), (one) => one.stop());
  const tls = protocol === 'https' ? await createCertificate(['127.0.0.1']) : null;
  const { port } = await target.ask<{ port: number }>({ type: 'start', tls });
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
  const system = await teardown.start(System.open({ databaseUrl, queueUrl, folder, env }), (one) =>
    one.close(),
  );
  const profileFolder = join(folder, 'profiles');
  const services = new Map<string, ServiceProcess>();
  const startService = async (name: string): Promise<ServiceProcess> => {
    const service = name.split(' ', 1)[0] as ServiceName;
    const nodeOptions = profile === service ? ['--cpu-prof', `--cpu-prof-dir=${profileFolder}`] : [];
    const started = system.service(service, {}, { label: name, nodeOptions });
    await started.start();
    services.set(name, started);
    return started;
  };
  return {
    system,
    redis,
    target,
    targetUrl,
    targetCa: tls?.ca ?? null,
    receiver,
    profileFolder,
    services,
    startService,
    startAll: async (checkers) => {
      const numbers = Array.from({ length: checkers }, (_, index) => `checker ${index + 1}`);
      await Promise.all(['api', 'notifier', ...numbers].map(startService));
    },
    stopServices: async (names) => {
      for (const name of names) {
        await services.get(name)?.signal('SIGTERM');
        services.delete(name);
      }
    },
    checkers: () => [...services.values()].filter(({ name }) => name === 'checker'),
    usage: () =>
      readUsage(
        new Map([
          ...stores.pids,
          ['web-target', target.pid],
          ...[...services].map(([name, { pid }]) => [name, pid] as const),
        ]),
      ),
    insertMonitors: (count, intervalSeconds) =>
      insertMonitors(system, { count, intervalSeconds, url: (number) => `${targetUrl}/m/${number}` }),
  };
}

/** The usage of the programs over a span of time. */
export interface Window {
  readonly span: Span;
  /** The same on the monotonic clock, in nanoseconds. */
  readonly clock: { readonly from: bigint; readonly to: bigint };
  readonly usage: ReadonlyMap<string, Usage>;
}

/** Lets the system work for a while. CPU time is that of the window, memory that at its end. */
export async function openWindow(stage: Stage, seconds: number): Promise<Window> {
  const before = stage.usage();
  const [from, clockFrom] = [Date.now(), process.hrtime.bigint()];
  await wait(seconds * 1_000);
  const used = [...stage.usage()].map(([name, { cpuMs, rssBytes }]): [string, Usage] => [
    name,
    { cpuMs: cpuMs - (before.get(name)?.cpuMs ?? 0), rssBytes },
  ]);
  return {
    span: { from, to: Date.now() },
    clock: { from: clockFrom, to: process.hrtime.bigint() },
    usage: new Map(used),
  };
}
