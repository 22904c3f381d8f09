import { randomBytes, randomUUID } from 'node:crypto';
import https from 'node:https';
import { createSecureContext } from 'node:tls';
import { Webhook } from 'standardwebhooks';
import { serveParent } from './helper-process.ts';

/*
 * The floor of deliveries: signed requests of Node's own client, each on a new connection, with one secure context for all. No notifier
 * with the same number of concurrent attempts can be faster.
 */

export interface WebhookClientMessage {
  readonly url: string;
  /** PEM of the CA to trust. */
  readonly ca: string;
  readonly requests: number;
  readonly concurrency: number;
}

export interface WebhookClientReport {
  readonly seconds: number;
  readonly failures: number;
  readonly cpuMs: number;
}

serveParent(send);

async function send({ url, ca, requests, concurrency }: WebhookClientMessage): Promise<WebhookClientReport> {
  const agent = new https.Agent({
    keepAlive: false,
    maxCachedSessions: 0,
    secureContext: createSecureContext({ ca }),
  });
  const webhook = new Webhook(`whsec_${randomBytes(24).toString('base64')}`);
  const startedAt = performance.now();
  const cpuBefore = process.cpuUsage();
  let [started, failures] = [0, 0];
  const worker = async (): Promise<void> => {
    while (started < requests) {
      started += 1;
      if (!(await post(url, agent, webhook))) failures += 1;
    }
  };
  await Promise.all(Array.from({ length: concurrency }, worker));
  const { user, system } = process.cpuUsage(cpuBefore);
  return { seconds: (performance.now() - startedAt) / 1_000, failures, cpuMs: (user + system) / 1_000 };
}

/** @returns whether the response has 2xx */
function post(url: string, agent: https.Agent, webhook: Webhook): Promise<boolean> {
  const id = randomUUID();
  const now = new Date();
  const body = payloadOf(id, now);
  const headers = {
    'content-type': 'application/json',
    'webhook-id': id,
    'webhook-timestamp': String(Math.floor(now.getTime() / 1_000)),
    'webhook-signature': webhook.sign(id, now, body),
  };
  return new Promise((resolve) => {
    const request = https.request(url, { method: 'POST', agent, headers }, (response) => {
      response.resume();
      response.on('end', () => resolve(response.statusCode === 204));
    });
    request.on('error', () => resolve(false));
    request.end(body);
  });
}

function payloadOf(monitorId: string, now: Date): string {
  return JSON.stringify({
    event: 'monitor.down',
    monitorId,
    monitorName: 'Monitor 1',
    status: 'DOWN',
    previousStatus: 'UP',
    latency: 12,
    errorReason: 'HTTP_500',
    region: 'default',
    timestamp: now.toISOString(),
    runbookUrl: null,
  });
}
