import { once } from 'node:events';
import { type AddressInfo, connect, createServer } from 'node:net';
import { afterAll, afterEach, describe, expect, test } from '@jest/globals';
import { createEgress, type Egress } from '@tocsin/egress/create-egress';
import type { LookupOwner } from '@tocsin/egress/dns/fair-lookup';
import { type Respond, WebhookReceiver } from '@tocsin/embedded/local-web/webhook-receiver';
import { Webhook } from 'standardwebhooks';
import { NO_DEADLINE_MS } from '../testing/deadlines.ts';
import { SECRET, webhookTo } from '../testing/webhook-to.ts';
import { sendWebhook, type WebhookRequest, type WebhookResult } from './send-webhook.ts';

const OLD_SECRET = `whsec_${Buffer.from('second secret of the channel').toString('base64')}`;
const PAYLOAD = '{"event":"monitor.down","monitorName":"Größe \\u2028 ✓"}';
const ok: Respond = (_, response) => {
  response.writeHead(204).end();
};

const receiver = await WebhookReceiver.start();
afterAll(() => receiver.stop());
const egress = createEgress({ allowCidrs: ['127.0.0.0/8'], extraCa: receiver.ca });
afterEach(() => {
  receiver.received.length = 0;
});

function send(
  respond: Respond,
  fields: Partial<WebhookRequest> = {},
  through: Egress = egress,
): Promise<WebhookResult> {
  receiver.respond = respond;
  const request = webhookTo(receiver.url('/hook'), { payload: PAYLOAD, ...fields });
  return sendWebhook(request, through, NO_DEADLINE_MS);
}

describe('sendWebhook', () => {
  test("sends the channel's headers, and keeps no secret that the receiver repeats", async () => {
    const echo: Respond = (request, response) => {
      response.writeHead(400).end(`${request.headers.authorization} for R0UT1NG-KEY`);
    };
    const headers = { Authorization: 'Bearer s3cret-t0ken', 'User-Agent': 'Ops' };
    const { responseExcerpt } = await send(echo, { headers, routingKey: 'R0UT1NG-KEY' });
    expect(receiver.received[0]?.headers).toMatchObject({
      authorization: 'Bearer s3cret-t0ken',
      'user-agent': 'Ops',
      'webhook-id': 'delivery-1',
    });
    expect(responseExcerpt).toBe('[hidden] for [hidden]');
  });

  test('posts the exact bytes with the fixed headers and a signature for each valid secret', async () => {
    const result = await send(ok, { secrets: [SECRET, OLD_SECRET] });
    expect(result).toMatchObject({ statusCode: 204, error: null, retryAfterMs: null });
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
    expect(headers['webhook-signature']?.split(' ')).toHaveLength(2);
    const later = String(Number(headers['webhook-timestamp']) + 1);
    for (const secret of [SECRET, OLD_SECRET]) {
      const signed = new Webhook(secret);
      expect(signed.verify(PAYLOAD, headers)).toBeTruthy();
      expect(() => signed.verify(`${PAYLOAD} `, headers)).toThrow();
      expect(() => signed.verify(PAYLOAD, { ...headers, 'webhook-id': 'other' })).toThrow();
      expect(() => signed.verify(PAYLOAD, { ...headers, 'webhook-timestamp': later })).toThrow();
    }
    const stranger = `whsec_${Buffer.from('somebody else altogether').toString('base64')}`;
    expect(() => new Webhook(stranger).verify(PAYLOAD, headers)).toThrow();
  });

  test("signs and logs with the time of the claim by Postgres' clock, not by the clock of this process", async () => {
    const claimedAt = new Date('2026-11-20T12:00:00.750Z');
    expect(await send(ok, { claimedAt })).toMatchObject({ statusCode: 204, startedAt: claimedAt });
    expect(receiver.received[0]?.headers['webhook-timestamp']).toBe('1795176000');
    const inHalfAnHour = new Date(claimedAt.getTime() + 1_800_000).toUTCString();
    const busy: Respond = (_, response) => response.writeHead(503, { 'Retry-After': inHalfAnHour }).end();
    const { retryAfterMs } = await send(busy, { claimedAt });
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
    await send(ok, {}, { ...egress, connectionTo });
    expect(owners).toEqual([
      { account: 'account-1', resource: 'channel-1', isRedirected: false, deadline: expect.any(Number) },
    ]);
    expect(owners[0]?.deadline).toBeGreaterThanOrEqual(before + NO_DEADLINE_MS);
  });

  test('sends a Host header without the default port', async () => {
    const connectionTo: Egress['connectionTo'] = (url, owner) => {
      expect([url.hostname, url.port]).toEqual(['hooks.test', '']);
      return egress.connectionTo(new URL(receiver.url('/')), owner);
    };
    await send(ok, { url: 'https://hooks.test/hook' }, { ...egress, connectionTo });
    expect(receiver.received[0]?.headers.host).toBe('hooks.test');
  });

  test.each([200, 299, 301, 302, 303, 307, 308, 410, 500])(
    'only a status below 300 is a success, and no redirect is followed: %i',
    async (statusCode) => {
      const result = await send((_, response) => {
        response.writeHead(statusCode, { Location: receiver.url('/elsewhere') }).end('why');
      });
      const error = statusCode < 300 ? null : `responded with status ${statusCode}`;
      expect(result).toMatchObject({ statusCode, error, responseExcerpt: 'why' });
      expect(receiver.received).toHaveLength(1);
    },
  );

  test.each([
    [429, '7', 7_000],
    [503, '7', 7_000],
    [500, '7', null],
    [429, 'soon', null],
  ])('status %i with Retry-After %j', async (status, header, expected) => {
    const result = await send((_, response) => {
      response.writeHead(status, { 'Retry-After': header }).end();
    });
    expect(result.retryAfterMs).toBe(expected);
  });

  test('reports a refused connection', async () => {
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

  test('returns an error for an invalid channel and plain HTTP instead of throwing, and sends nothing', async () => {
    const plain = receiver.url().replace('https:', 'http:');
    const secrets = [[], ['whsec_'], ['whsec_not base64!']].map((given) => ({ secrets: given }));
    for (const fields of [...secrets, { url: 'x' }, { url: plain }])
      expect(await send(ok, fields)).toMatchObject({ error: expect.any(String) });
    expect(receiver.received).toEqual([]);
    const url = receiver.url('/hook').replace('https', 'HTTPS');
    expect(await send(ok, { url })).toMatchObject({ statusCode: 204 });
  });
});
