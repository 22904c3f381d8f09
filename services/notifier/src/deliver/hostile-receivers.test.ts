import net from 'node:net';
import tls from 'node:tls';
import { gzipSync } from 'node:zlib';
import { afterEach, beforeAll, describe, expect, jest, test } from '@jest/globals';
import { WEBHOOK_DEADLINE_MS } from '@tocsin/contracts/deliveries/webhook';
import { createEgress, type Egress } from '@tocsin/egress/create-egress';
import { type Certificate, createCertificate } from '@tocsin/embedded/certificates';
import { until } from '@tocsin/embedded/testing/until';
import { holdTimeouts, NO_DEADLINE_MS } from '../testing/deadlines.ts';
import { sendWebhook, type WebhookResult, type WebhookRequest } from './send-webhook.ts';

const SECRET = `whsec_${Buffer.from('first secret of the channel').toString('base64')}`;
const OK = 'HTTP/1.1 200 OK\r\n';
const HEAD = `${OK}Content-Length: 10000000000\r\n\r\n`;
const NO_RESPONSE = 'no response within 5 s';

let certificate: Certificate;
let egress: Egress;
const stops: (() => Promise<void>)[] = [];
beforeAll(async () => {
  certificate = await createCertificate(['127.0.0.1']);
  egress = createEgress({ allowCidrs: ['127.0.0.0/8'], extraCa: certificate.ca });
});
afterEach(async () => {
  jest.useRealTimers();
  await Promise.all(stops.splice(0).map((stop) => stop()));
});

interface Receiver {
  readonly url: string;
  /** Resolves once every connection that was opened to it is closed again. */
  readonly allClosed: () => Promise<void>;
}

async function listen(server: net.Server): Promise<Receiver> {
  const open = new Set<net.Socket>();
  server.on('connection', (socket: net.Socket) => {
    open.add(socket);
    socket.on('error', () => undefined);
    socket.on('close', () => open.delete(socket));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  stops.push(async () => {
    for (const socket of open) socket.destroy();
    await new Promise((resolve) => server.close(resolve));
  });
  const { port } = server.address() as net.AddressInfo;
  return {
    url: `https://127.0.0.1:${port}/hook`,
    allClosed: async () => {
      await Promise.all([...open].map((socket) => new Promise((resolve) => socket.once('close', resolve))));
    },
  };
}

/** A receiver that speaks TLS, and then whatever it likes. */
function receiver(listener: (socket: tls.TLSSocket) => void): Promise<Receiver> {
  return listen(
    tls.createServer(certificate, (socket) => {
      socket.on('error', () => undefined);
      socket.once('data', () => listener(socket));
    }),
  );
}

const raw = (listener: (socket: net.Socket) => void): Promise<Receiver> => listen(net.createServer(listener));

function responding(bytes: string | Buffer): Promise<Receiver> {
  return receiver((socket) => socket.end(bytes));
}

function pouring(head: string, more: string): Promise<Receiver> {
  return receiver((socket) => {
    const pour = (): void => {
      while (!socket.destroyed && socket.write(more));
    };
    socket.on('drain', pour);
    socket.write(head);
    pour();
  });
}

function trickle(head: string, drop: string): (socket: net.Socket) => void {
  return (socket) => {
    socket.write(head);
    const timer = setInterval(() => socket.write(drop), 20);
    socket.on('close', () => clearInterval(timer));
  };
}

function requestTo(url: string): WebhookRequest {
  return {
    id: 'delivery-1',
    accountId: 'account-1',
    channelId: 'channel-1',
    url,
    payload: '{}',
    secrets: [SECRET],
    claimedAt: new Date(),
  };
}

/** Sends a webhook and checks that the result is bounded and printable, and that no connection stays open. */
async function send({ url, allClosed }: Receiver, deadlineMs?: number): Promise<WebhookResult> {
  const result = await sendWebhook(requestTo(url), egress, deadlineMs ?? NO_DEADLINE_MS);
  for (const text of [result.error ?? '', result.responseExcerpt ?? '']) {
    expect(text.length).toBeLessThanOrEqual(500);
    expect(text).not.toMatch(/\p{Cc}/u);
  }
  await allClosed();
  return result;
}

describe('invalid responses', () => {
  test.each<[string, string | Buffer]>([
    ['nothing', ''],
    ['no HTTP at all', 'SSH-2.0-OpenSSH_9.6\r\n'],
    ['HTTP/0.9', '<html>ok</html>'],
    ['HTTP/2', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'],
    ['a negative status', 'HTTP/1.1 -20 Odd\r\n\r\n'],
    ['a status of four digits', 'HTTP/1.1 2000 High\r\n\r\n'],
    ['a NUL in a header', `${OK}X: a\0b\r\n\r\n`],
    ['length and chunks', `${OK}Content-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n`],
    ['a length below zero', `${OK}Content-Length: -1\r\n\r\n`],
    ['a head that breaks off', `${OK}Content-Ty`],
    ['binary noise', Buffer.from([0, 255, 1, 254, 13, 10, 13, 10])],
  ])('%s', async (_name, bytes) => {
    expect(await send(await responding(bytes))).toMatchObject({
      statusCode: null,
      error: expect.stringMatching(/./),
    });
  });

  test.each([0, 99, 199, 600, 999])('status %d', async (statusCode) => {
    const receiver = await responding(`HTTP/1.1 ${String(statusCode).padStart(3, '0')} Odd\r\n\r\n`);
    const result = await send(receiver);
    if (statusCode === 199) expect(result.statusCode).toBeNull();
    else expect(result).toMatchObject({ statusCode, error: `responded with status ${statusCode}` });
  });

  test.each([
    ['one header', `${OK}X-Long: `, 'z'.repeat(16_384)],
    ['many headers', OK, 'X-Many: zzzzzzzzzzzzzzzz\r\n'.repeat(500)],
    ['a reason phrase', 'HTTP/1.1 200 ', 'z'.repeat(16_384)],
    ['interim responses', '', 'HTTP/1.1 102 Processing\r\n\r\n'.repeat(50)],
  ])('%s without end is cut off', async (_name, head, more) => {
    const result = await send(await pouring(head, more));
    expect(result).toMatchObject({ statusCode: null, error: expect.stringMatching(/./) });
  });

  test('an unexpected switch of protocols is a response, and its connection is closed', async () => {
    const head = 'HTTP/1.1 101 Switching\r\nConnection: Upgrade\r\nUpgrade: ws\r\n\r\n';
    expect(await send(await responding(head))).toMatchObject({
      statusCode: 101,
      error: 'responded with status 101',
    });
    expect(await send(await pouring(head, 'more'.repeat(4_096)))).toMatchObject({ statusCode: 101 });
  });
});

describe('a body does not change the result', () => {
  const CHUNKED = `${OK}Transfer-Encoding: chunked\r\n\r\n`;
  test.each<[string, string]>([
    ['that breaks off', `${OK}Content-Length: 100\r\n\r\nhalf`],
    ['in invalid chunks', `${CHUNKED}xyz\r\n`],
    ['with chunks that are too long', `${CHUNKED}2\r\nneedle\r\n`],
    ['followed by another response', `${OK}Content-Length: 2\r\n\r\nok${OK}\r\n`],
    ['of control characters', `${OK}Content-Length: 9\r\n\r\n\x1b[31m\0\x07\u0085`],
  ])('%s', async (_name, bytes) => {
    expect(await send(await responding(bytes))).toMatchObject({ statusCode: 200, error: null });
  });

  test.each<[string, string, string]>([
    ['of 10 GB', HEAD, 'x'.repeat(65_536)],
    ['of chunks of a byte', CHUNKED, '1\r\nx\r\n'.repeat(10_000)],
    ['of one extension', `${CHUNKED}6;`, 'x=y;'.repeat(4_096)],
  ])('without end, %s', async (_name, head, more) => {
    const result = await send(await pouring(head, more));
    expect(result).toMatchObject({ statusCode: 200, error: null });
  });

  test('with slow single bytes, and with a compression bomb', async () => {
    expect(await send(await receiver(trickle(`${OK}\r\n`, '.')))).toMatchObject({
      statusCode: 200,
      error: null,
    });
    const head = `${OK}Content-Encoding: gzip\r\n\r\n`;
    const bomb = Buffer.concat([Buffer.from(head), gzipSync(Buffer.alloc(8 * 1024 * 1024))]);
    expect(await send(await responding(bomb))).toMatchObject({ statusCode: 200, error: null });
  });
});

describe('a connection', () => {
  const reset = (socket: net.Socket): void => void socket.resetAndDestroy();
  test.each<[string, () => Promise<Receiver>]>([
    ['reset at once', () => raw(reset)],
    ['reset in the handshake', () => raw((socket) => void socket.once('data', () => reset(socket)))],
    ['cut with the request', () => receiver((socket) => void socket.destroy())],
    ['cut within the head', () => receiver((socket) => void socket.write(OK, () => socket.destroy()))],
    ['without TLS', () => raw((socket) => void socket.once('data', () => socket.end(`${OK}\r\n`)))],
    ['with noise for TLS', () => raw((socket) => void socket.resume().end(Buffer.alloc(999, 0xa7)))],
  ])('%s counts as no response', async (_name, start) => {
    expect(await send(await start())).toMatchObject({ statusCode: null, error: expect.stringMatching(/./) });
  });

  test('a certificate of another name, or only TLS 1.0, counts as no response', async () => {
    const other = await createCertificate(['other.example']);
    const trusting = createEgress({ allowCidrs: ['127.0.0.0/8'], extraCa: other.ca + certificate.ca });
    const old = { minVersion: 'TLSv1', maxVersion: 'TLSv1', ciphers: 'DEFAULT@SECLEVEL=0' } as const;
    for (const options of [other, { ...certificate, ...old }]) {
      const { url } = await listen(tls.createServer(options));
      expect(await sendWebhook(requestTo(url), trusting, NO_DEADLINE_MS)).toMatchObject({
        statusCode: null,
        error: expect.stringMatching(/./),
      });
    }
  });

  test('that is slow at any stage ends after 5 s', async () => {
    holdTimeouts();
    let reached = 0;
    const reach = <Socket extends net.Socket>(listener: (socket: Socket) => void) => {
      return (socket: Socket): void => {
        reached += 1;
        listener(socket);
      };
    };
    const slow = await Promise.all([
      raw(reach((socket) => void socket.resume())),
      raw(
        reach((socket) => {
          socket.resume().write(Buffer.from([22, 3, 3, 0x40, 0x00]));
          const timer = setInterval(() => socket.write('.'), 20);
          socket.on('close', () => clearInterval(timer));
        }),
      ),
      receiver(reach(() => undefined)),
      receiver(reach(trickle(`${OK}X-Slow: `, '.'))),
      receiver(reach(trickle('HTTP/1.1 100 Continue\r\n\r\n', ''))),
    ]);
    let ended = 0;
    const results = Promise.all(
      slow.map((one) =>
        send(one, WEBHOOK_DEADLINE_MS).finally(() => {
          ended += 1;
        }),
      ),
    );
    await until('a connection to each receiver', () => reached === slow.length);
    await jest.advanceTimersByTimeAsync(WEBHOOK_DEADLINE_MS - 1);
    expect(ended).toBe(0);
    await jest.advanceTimersByTimeAsync(100);
    expect((await results).map(({ error }) => error)).toEqual(slow.map(() => NO_RESPONSE));
  });
});
