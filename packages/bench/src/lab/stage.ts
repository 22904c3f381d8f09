import { createChannel } from '@tocsin/db/channels/write-channels';
import { createCertificate } from '@tocsin/embedded/certificates';
import type { TargetMessage } from '../processes/web-target.ts';
import type { SinkMessage } from '../processes/webhook-sink.ts';
import type { Bench } from '../scenarios/scenario.ts';
import type { HelperProcess } from './helper-process.ts';
import { Lab, type RunningService } from './lab.ts';

export interface StageOptions {
  readonly protocol: 'http' | 'https';
  readonly queue: 'redis' | 'postgres';
}

/** Stores, something to check, and somewhere to send webhooks; no service runs yet. */
export interface Stage {
  readonly lab: Lab;
  readonly target: HelperProcess<TargetMessage>;
  readonly sink: HelperProcess<SinkMessage>;
  /** Without a path. */
  readonly targetUrl: string;
  /** PEM; null for http. */
  readonly targetCa: string | null;
  /** What Redis takes with nothing in it; NaN without one. */
  readonly emptyRedisBytes: number;
  redisBytes(): Promise<number>;
  /** Sends the webhooks of these monitors to the sink. */
  connectChannel(monitorIds: readonly string[]): Promise<void>;
  startApi(): Promise<RunningService>;
  startNotifier(): Promise<RunningService>;
  /** @param number from 1 */
  startChecker(number: number): Promise<RunningService>;
}

export async function openStage(bench: Bench, options: StageOptions): Promise<Stage> {
  bench.say('Starting a system of its own …');
  const lab = await Lab.open({ queue: options.queue, profile: bench.profile }, bench.teardown);
  const target = await lab.startHelper<TargetMessage>('web-target');
  const certificate = options.protocol === 'https' ? await createCertificate(['127.0.0.1']) : null;
  const { port } = await target.ask<{ port: number }>({ type: 'start', tls: certificate });
  const sink = await lab.startHelper<SinkMessage>('webhook-sink');
  const { url, ca } = await sink.ask<{ url: string; ca: string }>({ type: 'start' });
  const notifierEnv = { WEBHOOK_CA_FILE: await lab.writeFile('sink-ca.pem', ca) };
  const checkerEnv: Record<string, string> =
    certificate === null ? {} : { CHECK_CA_FILE: await lab.writeFile('targets-ca.pem', certificate.ca) };
  return {
    lab,
    target,
    sink,
    targetUrl: `${options.protocol}://127.0.0.1:${port}`,
    targetCa: certificate?.ca ?? null,
    emptyRedisBytes: await usedRedisBytes(lab),
    redisBytes: () => usedRedisBytes(lab),
    connectChannel: async (monitorIds) => {
      if (monitorIds.length === 0) return;
      const { accountId } = lab.context;
      await createChannel(lab.context, { accountId, name: 'sink', url, monitorIds });
    },
    startApi: () => lab.startService('api'),
    startNotifier: () => lab.startService('notifier', notifierEnv),
    startChecker: (number) => lab.startService('checker', checkerEnv, `checker ${number}`),
  };
}

async function usedRedisBytes({ redis }: Lab): Promise<number> {
  if (redis === null) return Number.NaN;
  return Number(/^used_memory:(\d+)/m.exec(await redis.info('memory'))?.[1]);
}

/** The stage with every service running. */
export interface SystemUnderLoad extends Stage {
  readonly api: RunningService;
  readonly notifier: RunningService;
  readonly checkers: readonly RunningService[];
}

export async function startServices(stage: Stage, checkerCount: number): Promise<SystemUnderLoad> {
  const numbers = Array.from({ length: checkerCount }, (_, index) => index + 1);
  const [api, notifier, ...checkers] = await Promise.all([
    stage.startApi(),
    stage.startNotifier(),
    ...numbers.map((number) => stage.startChecker(number)),
  ]);
  return { ...stage, api, notifier, checkers };
}
