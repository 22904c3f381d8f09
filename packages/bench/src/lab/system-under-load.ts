import { createChannel } from '@tocsin/db/channels/create-channel';
import { createCertificate } from '@tocsin/embedded/certificates';
import type { SinkMessage } from '../processes/webhook-sink.ts';
import type { TargetMessage } from '../processes/web-target.ts';
import type { Bench } from '../scenarios/scenario.ts';
import type { HelperProcess } from './helper-process.ts';
import { Lab, type RunningService } from './lab.ts';

export interface SystemOptions {
  readonly protocol: 'http' | 'https';
  readonly queue: 'redis' | 'postgres';
  readonly checkers: number;
}

/** A whole system that runs, with something to check and somewhere to send webhooks. */
export interface SystemUnderLoad {
  readonly lab: Lab;
  readonly api: RunningService;
  readonly notifier: RunningService;
  readonly checkers: readonly RunningService[];
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
}

export async function openSystem(bench: Bench, options: SystemOptions): Promise<SystemUnderLoad> {
  bench.say('Starting a system of its own …');
  const lab = await Lab.open({ queue: options.queue, profile: bench.profile }, bench.teardown);
  const target = await lab.startHelper<TargetMessage>('web-target');
  const certificate = options.protocol === 'https' ? await createCertificate(['127.0.0.1']) : null;
  const { port } = await target.ask<{ port: number }>({ type: 'start', tls: certificate });
  const sink = await lab.startHelper<SinkMessage>('webhook-sink');
  const { url, ca } = await sink.ask<{ url: string; ca: string }>({ type: 'start' });
  const redisBytes = (): Promise<number> => usedRedisBytes(lab);
  const emptyRedisBytes = await redisBytes();
  const checkerEnv: Record<string, string> =
    certificate === null ? {} : { CHECK_CA_FILE: await lab.writeFile('targets-ca.pem', certificate.ca) };
  const api = await lab.startService('api');
  const notifier = await lab.startService('notifier', {
    WEBHOOK_CA_FILE: await lab.writeFile('sink-ca.pem', ca),
  });
  const checkers: RunningService[] = [];
  for (let number = 1; number <= options.checkers; number += 1) {
    checkers.push(await lab.startService('checker', checkerEnv, `checker ${number}`));
  }
  return {
    lab,
    api,
    notifier,
    checkers,
    target,
    sink,
    targetUrl: `${options.protocol}://127.0.0.1:${port}`,
    targetCa: certificate?.ca ?? null,
    emptyRedisBytes,
    redisBytes,
    connectChannel: async (monitorIds) => {
      if (monitorIds.length === 0) return;
      const { accountId } = lab.context;
      await createChannel(lab.context, { accountId, name: 'sink', url, monitorIds });
    },
  };
}

async function usedRedisBytes({ redis }: Lab): Promise<number> {
  if (redis === null) return Number.NaN;
  return Number(/^used_memory:(\d+)/m.exec(await redis.info('memory'))?.[1]);
}
