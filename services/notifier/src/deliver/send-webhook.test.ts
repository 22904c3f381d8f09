import { once } from 'node:events';
import { type AddressInfo, connect, createServer } from 'node:net';
import { afterAll, afterEach, beforeAll, describe, expect, jest, test } from '@jest/globals';
import { createEgress, type Egress } from '@tocsin/egress/create-egress';
import type { LookupOwner } from '@tocsin/egress/dns/fair-lookup';
import { type Respond, WebhookReceiver } from '@tocsin/embedded/local-web/webhook-receiver';
import { until } from '@tocsin/embedded/testing/until';
import { Webhook } from 'standardwebhooks';
import { holdTimeouts, NO_DEADLINE_MS } from '../testing/deadlines.ts';
import { sendWebhook, type WebhookResult } from './send-webhook.ts';

const SECRET = `whsec_${Buffer.from('first secret of the channel').toString('base64')}`;
const OLD_SECRET = `whsec_${Buffer.from('second secret of the channel').toString('base64')}`;
const PAYLOAD = '{"event":"monitor.down","monitorName":"Größe \\u2028 ✓"}';
const ok: Respond = (_, response) => {
  response.writeHead(204).end();
};

let receiver: WebhookReceiver;
let egress: Egress;

beforeAll(async () => {
  receiver = await WebhookReceiver.start();
  egress = createEgress({ allowCidrs: ['127.0.0.0/8'], extraCa: receiver.ca });
});
afterAll(() => receiver.stop());
afterEach(() => {
  jest.useRealTimers();
  receiver.received.length = 0;
});

async function send(
  respond: Respond,
  overrides: { url?: string; egress?: Egress; claimedAt?: Date } = {},
): Promise<WebhookResult> {
  receiver.respond = respond;
  return sendWebhook(
    {
      id: 'delivery-1',
      accountId: 'account-1',
      channelId: 'channel-1',
      url: overrides.url ?? receiver.url('/hook'),
      payload: PAYLOAD,
      secrets: [SECRET, OLD_SECRET],
      claimedAt: overrides.claimedAt ?? new Date(),
    },
    overrides.egress ?? egress,
    NO_DEADLINE_MS,
  );
}

describe('sendWebhook', () => {
  test('posts the exact bytes, with the fixed headers and a signature per valid secret', async () => {
    expect(await send(ok)).toMatchObject({ statusCode: 204, error: null, retryAfterMs: null });
    const [webhook] = receiver.received;
    expect(webhook).toMatchObject({
      method: 'POST',
      path: '/hook',
      body: PAYLOAD,
      headers: {
        'content-type': 'application/json',
        'user-agent': 'Service/1.0',
        'webhook-id': 'delivery-1',
      },
    });
    const headers = webhook?.headers as Record<string, string>;
    for (const secret of [SECRET, OLD_SECRET]) {
      expect(new Webhook(secret).verify(PAYLOAD, headers)).toBeTruthy();
      expect(() => new Webhook(secret).verify(`${PAYLOAD} `, headers)).toThrow();
    }
    const stranger = `whsec_${Buffer.from('somebody else altogether').toString('base64')}`;
    expect(() => new Webhook(stranger).verify(PAYLOAD, headers)).toThrow();
  });

  test("signs and logs with the time of the claim by Postgres' clock, not by the clock of this process", async () => {
    const claimedAt = new Date('2026-11-20T12:00:00.750Z');
    expect(await send(ok, { claimedAt })).toMatchObject({ statusCode: 204, startedAt: claimedAt });
    expect(receiver.received[0]?.headers['webhook-timestamp']).toBe('1795176000');
    const inHalfAnHour = new Date(claimedAt.getTime() + 1_800_000).toUTCString();
    const { retryAfterMs } = await send(
      (_, response) => response.writeHead(503, { 'Retry-After': inHalfAnHour }).end(),
      { claimedAt },
    );
    expect(retryAfterMs).toBeGreaterThan(0);
    expect(retryAfterMs).toBeLessThanOrEqual(1_800_000);
  });

  test('looks the name up on behalf of the account and the channel, until the deadline', async () => {
    const owners: LookupOwner[] = [];
    const connectionTo: Egress['connectionTo'] = (url, owner) => {
      owners.push(owner);
      return egress.connectionTo(url, owner);
    };
    const before = performance.now();
    await send(ok, { egress: { ...egress, connectionTo } });
    expect(owners).toEqual([
      { account: 'account-1', resource: 'channel-1', redirected: false, deadline: expect.any(Number) },
    ]);
    expect(owners[0]?.deadline).toBeGreaterThanOrEqual(before + NO_DEADLINE_MS);
  });

  test('sends a Host header without the default port', async () => {
    const connectionTo: Egress['connectionTo'] = (url, owner) => {
      expect([url.hostname, url.port]).toEqual(['hooks.test', '']);
      return egress.connectionTo(new URL(receiver.url('/')), owner);
    };
    await send(ok, { url: 'https://hooks.test/hook', egress: { ...egress, connectionTo } });
    expect(receiver.received[0]?.headers.host).toBe('hooks.test');
  });

  test.each([
    [200, null],
    [299, null],
    [301, 'responded with status 301'],
    [410, 'responded with status 410'],
    [500, 'responded with status 500'],
  ])('%i: %s, and no redirect is followed', async (status, error) => {
    const result = await send((_, response) => {
      response.writeHead(status, { Location: receiver.url('/elsewhere') }).end('why');
    });
    expect(result).toMatchObject({ statusCode: status, error, responseExcerpt: 'why' });
    expect(receiver.received).toHaveLength(1);
  });

  test.each([
    [429, '7', 7_000],
    [503, '7', 7_000],
    [500, '7', null],
    [429, 'soon', null],
  ])('%i with Retry-After %j', async (status, header, expected) => {
    const result = await send((_, response) => {
      response.writeHead(status, { 'Retry-After': header }).end();
    });
    expect(result.retryAfterMs).toBe(expected);
  });

  test('a 2xx whose body breaks off is a response', async () => {
    const result = await send((_, response) => {
      response.writeHead(200, { 'Content-Length': '1000' });
      response.write('half', () => response.destroy());
    });
    expect(result).toMatchObject({ statusCode: 200, error: null });
  });

  test('only the first bytes of an endless body are read', async () => {
    const result = await send((_, response) => {
      response.writeHead(200);
      const flood = setInterval(() => response.write('x'.repeat(64 * 1024)), 1);
      response.on('close', () => clearInterval(flood));
    });
    expect(result).toMatchObject({ statusCode: 200, error: null });
    expect(result.responseExcerpt?.length).toBeLessThanOrEqual(1_024);
  });

  test('a receiver that does not respond within 5 s fails the attempt', async () => {
    holdTimeouts();
    receiver.respond = () => undefined;
    let result: WebhookResult | null = null;
    const request = {
      id: 'delivery-1',
      accountId: 'account-1',
      channelId: 'channel-1',
      url: receiver.url('/hook'),
      payload: PAYLOAD,
      secrets: [SECRET],
      claimedAt: new Date(),
    };
    const sending = sendWebhook(request, egress).then((one) => (result = one));
    await until('the webhook', () => receiver.received.length === 1);
    await jest.advanceTimersByTimeAsync(4_999);
    expect(result).toBeNull();
    await jest.advanceTimersByTimeAsync(100);
    expect(await sending).toMatchObject({ statusCode: null, error: 'no response within 5 s' });
  });

  test('a connection that closes without a response fails the attempt', async () => {
    const result = await send((_, response) => {
      response.destroy();
    });
    expect(result).toMatchObject({ statusCode: null, error: expect.any(String) });
  });

  test('nothing listens', async () => {
    const server = createServer().listen(0, '127.0.0.1');
    await once(server, 'listening');
    // The local port of a connection is in use, and nothing listens on it.
    const socket = connect((server.address() as AddressInfo).port, '127.0.0.1');
    await once(socket, 'connect');
    const result = await send(ok, { url: `https://127.0.0.1:${socket.localPort}/` });
    socket.destroy();
    server.close();
    expect(result).toMatchObject({ statusCode: null, error: 'connection refused' });
  });

  test('a certificate of an unknown CA fails the attempt', async () => {
    const strict = createEgress({ allowCidrs: ['127.0.0.0/8'] });
    expect(await send(ok, { egress: strict })).toMatchObject({ statusCode: null, error: expect.any(String) });
    expect(receiver.received).toEqual([]);
  });

  test('an invalid channel is a result, not an exception', async () => {
    receiver.respond = ok;
    const request = {
      id: 'delivery-1',
      accountId: 'account-1',
      channelId: 'channel-1',
      url: receiver.url('/hook'),
      payload: PAYLOAD,
      claimedAt: new Date(),
    };
    for (const secrets of [[], ['whsec_'], ['whsec_not base64!']]) {
      expect(await sendWebhook({ ...request, secrets }, egress, NO_DEADLINE_MS)).toMatchObject({
        error: expect.any(String),
      });
    }
    const unreadable = { ...request, url: 'nonsense', secrets: [SECRET] };
    expect(await sendWebhook(unreadable, egress, NO_DEADLINE_MS)).toMatchObject({
      error: expect.any(String),
    });
    expect(receiver.received).toEqual([]);
    const shouted = { ...request, url: request.url.replace('https', 'HTTPS'), secrets: [SECRET] };
    expect(await sendWebhook(shouted, egress, NO_DEADLINE_MS)).toMatchObject({ statusCode: 204 });
  });

  test('plain HTTP and private addresses are refused before anything is sent', async () => {
    expect(await send(ok, { url: receiver.url().replace('https:', 'http:') })).toMatchObject({
      error: 'the URL of the channel is not HTTPS',
    });
    const guarded = createEgress({ allowCidrs: [], extraCa: receiver.ca });
    expect((await send(ok, { egress: guarded })).error).toContain('127.0.0.1');
    expect(receiver.received).toEqual([]);
  });
});
