import { randomBytes, randomUUID } from 'node:crypto';
import http from 'node:http';
import https from 'node:https';
import { setTimeout as wait } from 'node:timers/promises';
import { createSecureContext } from 'node:tls';
import { until } from '@tocsin/embedded/testing/until';
import { Webhook } from 'standardwebhooks';
import { serveParent } from './helper-process.ts';

/*
 * Measures the minimum cost of checks and deliveries: bare requests with Node's own client, each on a new connection, with a shared secure
 * context. No check or delivery that uses this client can cost less.
 */

export interface BareClientMessage {
  readonly kind: 'check' | 'webhook';
  readonly url: string;
  /** PEM of the CA to trust, or null for http. */
  readonly ca: string | null;
  readonly requests: number;
  /** Requests before the measurement. */
  readonly warmUp: number;
  /** Either a rate per second, or a number of concurrent requests. */
  readonly pace: { readonly rate: number } | { readonly concurrency: number };
}

export interface BareClientReport {
  readonly requests: number;
  readonly failures: number;
  readonly seconds: number;
  readonly cpuMs: number;
}

serveParent(async (message: BareClientMessage): Promise<BareClientReport> => {
  const send = createSender(message);
  const { pace, warmUp, requests } = message;
  const sendAll = (count: number): Promise<number> =>
    'rate' in pace ? sendAtRate(count, pace.rate, send) : sendConcurrently(count, pace.concurrency, send);
  await sendAll(warmUp);
  const startedAt = performance.now();
  const before = process.cpuUsage();
  const failures = await sendAll(requests);
  const { user, system } = process.cpuUsage(before);
  return {
    requests,
    failures,
    seconds: (performance.now() - startedAt) / 1_000,
    cpuMs: (user + system) / 1_000,
  };
});

function createSender({ kind, url, ca }: BareClientMessage): () => Promise<boolean> {
  const { Agent, request } = ca === null ? http : https;
  const tls = ca === null ? {} : { maxCachedSessions: 0, secureContext: createSecureContext({ ca }) };
  const agent = new Agent({ keepAlive: false, ...tls });
  const webhook = new Webhook(`whsec_${randomBytes(24).toString('base64')}`);
  return () =>
    new Promise((resolve) => {
      const { body, ...options } = kind === 'webhook' ? signedWebhook(webhook) : { body: undefined };
      const sent = request(url, { agent, ...options }, (response) => {
        response.resume();
        response.on('end', () => resolve(Math.floor((response.statusCode ?? 0) / 100) === 2));
      });
      sent.on('error', () => resolve(false));
      sent.end(body);
    });
}

function signedWebhook(webhook: Webhook) {
  const id = randomUUID();
  const now = new Date();
  const body = JSON.stringify({
    event: 'monitor.down',
    monitorId: id,
    monitorName: 'Monitor 1',
    status: 'DOWN',
    previousStatus: 'UP',
    latency: 12,
    errorReason: 'HTTP_500',
    region: 'default',
    timestamp: now.toISOString(),
    runbookUrl: null,
  });
  const headers = {
    'content-type': 'application/json',
    'webhook-id': id,
    'webhook-timestamp': String(Math.floor(now.getTime() / 1_000)),
    'webhook-signature': webhook.sign(id, now, body),
  };
  return { method: 'POST', headers, body };
}

/** Sends requests evenly over time, and waits until all have ended. @returns the number of failures */
async function sendAtRate(requests: number, rate: number, send: () => Promise<boolean>): Promise<number> {
  const startedAt = performance.now();
  let [started, ended, failures] = [0, 0, 0];
  const count = async (): Promise<void> => {
    if (!(await send())) failures += 1;
    ended += 1;
  };
  while (started < requests) {
    const due = Math.min(requests, Math.ceil(((performance.now() - startedAt) / 1_000) * rate));
    for (; started < due; started += 1) void count();
    await wait(1);
  }
  await until('every request to end', () => ended === requests, 5_000);
  return failures;
}

/** @returns the number of failures */
async function sendConcurrently(
  requests: number,
  concurrency: number,
  send: () => Promise<boolean>,
): Promise<number> {
  let [started, failures] = [0, 0];
  const worker = async (): Promise<void> => {
    while (started < requests) {
      started += 1;
      if (!(await send())) failures += 1;
    }
  };
  await Promise.all(Array.from({ length: concurrency }, worker));
  return failures;
}
