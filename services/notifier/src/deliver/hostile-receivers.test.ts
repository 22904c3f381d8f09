import net from 'node:net';
import tls from 'node:tls';
import { gzipSync } from 'node:zlib';
import { afterEach, describe, expect, jest, test } from '@jest/globals';
import { WEBHOOK_DEADLINE_MS } from '@tocsin/contracts/deliveries/webhook';
import { createEgress } from '@tocsin/egress/create-egress';
import { createCertificate } from '@tocsin/embedded/certificates';
import { until } from '@tocsin/embedded/testing/until';
import { holdTimeouts, NO_DEADLINE_MS } from '../testing/deadlines.ts';
import { webhookTo } from '../testing/webhook-to.ts';
import { sendWebhook, type WebhookResult } from './send-webhook.ts';

const OK = 'HTTP/1.1 200 OK\r\n';
const CHUNKED = `${OK}Transfer-Encoding: chunked\r\n\r\n`;
const FAILED = { statusCode: null, error: expect.stringMatching(/./) };
const DELIVERED = { statusCode: 200, error: null };

const stops: (() => Promise<void>)[] = [];
const certificate = await createCertificate(['127.0.0.1']);
const egress = createEgress({ allowCidrs: ['127.0.0.0/8'], extraCa: certificate.ca });
afterEach(async () => {
  jest.useRealTimers();
  await Promise.all(stops.splice(0).map((stop) => stop()));
});

interface Receiver {
  readonly url: string;
  /** Resolves once all connections to it are closed. */
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

/** Starts a receiver that speaks TLS and then whatever it likes. */
function receiver(listener: (socket: tls.TLSSocket) => void): Promise<Receiver> {
  return listen(
    tls.createServer(certificate, (socket) => {
      socket.on('error', () => undefined);
      socket.once('data', () => listener(socket));
    }),
  );
}

const raw = (listener: (socket: net.Socket) => void): Promise<Receiver> => listen(net.createServer(listener));

const responding = (bytes: string | Buffer): Promise<Receiver> => receiver((socket) => socket.end(bytes));

/** Starts a receiver that sends `more` without end. */
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

function trickle(head: string | Buffer, drop: string): (socket: net.Socket) => void {
  return (socket) => {
    socket.write(head);
    const timer = setInterval(() => socket.write(drop), 20);
    socket.on('close', () => clearInterval(timer));
  };
}

/** Sends a webhook and checks that the result is bounded and printable, and that no connection stays open. */
async function send({ url, allClosed }: Receiver, deadlineMs?: number): Promise<WebhookResult> {
  const result = await sendWebhook(webhookTo(url), egress, deadlineMs);
  for (const text of [result.error ?? '', result.responseExcerpt ?? '']) {
    expect(text.length).toBeLessThanOrEqual(500);
    expect(text).not.toMatch(/\p{Cc}/u);
  }
  await allClosed();
  return result;
}

describe('an invalid response counts as none', () => {
  test.each<[string, string | Buffer]>([
    ['nothing', ''],
    ['no HTTP at all', 'SSH-2.0-OpenSSH_9.6\r\n'],
    ['HTTP/0.9', '<html>ok</html>'],
    ['HTTP/2', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'],
    ['a negative status', 'HTTP/1.1 -20 Odd\r\n\r\n'],
    ['a status of four digits', 'HTTP/1.1 2000 High\r\n\r\n'],
    ['a final response of 199', 'HTTP/1.1 199 Odd\r\n\r\n'],
    ['a NUL in a header', `${OK}X: a\0b\r\n\r\n`],
    ['two lengths', `${OK}Content-Length: 1\r\nContent-Length: 2\r\n\r\n`],
    ['a length below zero', `${OK}Content-Length: -1\r\n\r\n`],
    ['a head that breaks off', `${OK}Content-Ty`],
    ['binary noise', Buffer.from([0, 255, 1, 254, 13, 10, 13, 10])],
  ])('%s', async (_name, bytes) => {
    expect(await send(await responding(bytes), NO_DEADLINE_MS)).toMatchObject(FAILED);
  });

  test.each([
    ['one header', `${OK}X-Long: `, 'z'.repeat(16_384)],
    ['many headers', OK, 'X-Many: zzzzzzzzzzzzzzzz\r\n'.repeat(500)],
    ['a reason phrase', 'HTTP/1.1 200 ', 'z'.repeat(16_384)],
    ['interim responses', '', 'HTTP/1.1 102 Processing\r\n\r\n'.repeat(50)],
  ])('%s without end', async (_name, head, more) => {
    expect(await send(await pouring(head, more), NO_DEADLINE_MS)).toMatchObject(FAILED);
  });
});

describe('a response counts as checks and other clients read it', () => {
  test.each([
    ['with lines that end in LF', 'HTTP/1.1 200 OK\nContent-Length: 2\n\nok'],
    ['with a head of 60 KiB', `${OK}${`X-Long: ${'z'.repeat(12_000)}\r\n`.repeat(5)}\r\n`],
    ['with a length and chunks', `${OK}Content-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`],
    ['with a repeated length', `${OK}${'Content-Length: 2\r\n'.repeat(2)}\r\nok`],
  ])('%s', async (_name, bytes) => {
    expect(await send(await responding(bytes), NO_DEADLINE_MS)).toMatchObject(DELIVERED);
  });
});

test.each([0, 99, 600, 999])('the odd status %d is an error', async (statusCode) => {
  const odd = await responding(`HTTP/1.1 ${String(statusCode).padStart(3, '0')} Odd\r\n\r\n`);
  const error = `responded with status ${statusCode}`;
  expect(await send(odd, NO_DEADLINE_MS)).toMatchObject({ statusCode, error });
});

test('an unexpected switch of protocols is a response, and its connection is closed', async () => {
  const head = 'HTTP/1.1 101 Switching\r\nConnection: Upgrade\r\nUpgrade: ws\r\n\r\n';
  for (const switching of [await responding(head), await pouring(head, 'more'.repeat(4_096))]) {
    const expected = { statusCode: 101, error: 'responded with status 101' };
    expect(await send(switching, NO_DEADLINE_MS)).toMatchObject(expected);
  }
});

describe('a body does not change the result', () => {
  const BOMB = gzipSync(Buffer.alloc(8 * 1024 * 1024));
  test.each<[string, () => Promise<Receiver>]>([
    ['that breaks off', () => responding(`${OK}Content-Length: 100\r\n\r\nhalf`)],
    ['in invalid chunks', () => responding(`${CHUNKED}xyz\r\n`)],
    ['with chunks that are too long', () => responding(`${CHUNKED}2\r\nneedle\r\n`)],
    ['followed by another response', () => responding(`${OK}Content-Length: 2\r\n\r\nok${OK}\r\n`)],
    ['of control characters', () => responding(`${OK}Content-Length: 9\r\n\r\n\x1b[31m\0\x07\u0085`)],
    ['of 10 GB', () => pouring(`${OK}Content-Length: 10000000000\r\n\r\n`, 'x'.repeat(65_536))],
    ['of endless chunks of a byte', () => pouring(CHUNKED, '1\r\nx\r\n'.repeat(10_000))],
    ['of one endless chunk extension', () => pouring(`${CHUNKED}6;`, 'x=y;'.repeat(4_096))],
    ['of slow single bytes', () => receiver(trickle(`${OK}\r\n`, '.'))],
    [
      'that is a compression bomb',
      () => responding(Buffer.concat([Buffer.from(`${OK}Content-Encoding: gzip\r\n\r\n`), BOMB])),
    ],
  ])('%s', async (_name, start) => {
    expect(await send(await start(), NO_DEADLINE_MS)).toMatchObject(DELIVERED);
  });
});

describe('a connection counts as no response', () => {
  const reset = (socket: net.Socket): void => void socket.resetAndDestroy();
  test.each<[string, () => Promise<Receiver>]>([
    ['reset at once', () => raw(reset)],
    ['reset in the handshake', () => raw((socket) => void socket.once('data', () => reset(socket)))],
    ['cut with the request', () => receiver((socket) => void socket.destroy())],
    ['cut within the head', () => receiver((socket) => void socket.write(OK, () => socket.destroy()))],
    ['without TLS', () => raw((socket) => void socket.once('data', () => socket.end(`${OK}\r\n`)))],
    ['with noise for TLS', () => raw((socket) => void socket.resume().end(Buffer.alloc(999, 0xa7)))],
  ])('if it is %s', async (_name, start) => {
    expect(await send(await start(), NO_DEADLINE_MS)).toMatchObject(FAILED);
  });

  test('if its certificate is of an unknown CA or another name, or if it speaks only TLS 1.0', async () => {
    const [unknown, other] = [
      await createCertificate(['127.0.0.1']),
      await createCertificate(['other.example']),
    ];
    const trusting = createEgress({ allowCidrs: ['127.0.0.0/8'], extraCa: other.ca + certificate.ca });
    const old = { minVersion: 'TLSv1', maxVersion: 'TLSv1', ciphers: 'DEFAULT@SECLEVEL=0' } as const;
    for (const options of [unknown, other, { ...certificate, ...old }]) {
      const { url } = await listen(tls.createServer(options));
      const result = await sendWebhook(webhookTo(url), trusting, NO_DEADLINE_MS);
      expect(result).toMatchObject({
        ...FAILED,
        error: expect.stringMatching(/^(certificate|TLS failed:) /),
      });
      expect(result.error).not.toMatch(/:error:|\.c:\d/);
    }
  });

  test('if it is slow at any stage, after 5 s', async () => {
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
      raw(reach((socket) => trickle(Buffer.from([22, 3, 3, 0x40, 0x00]), '.')(socket.resume()))),
      receiver(reach(() => undefined)),
      receiver(reach(trickle(`${OK}X-Slow: `, '.'))),
      receiver(reach(trickle('HTTP/1.1 100 Continue\r\n\r\n', ''))),
    ]);
    let ended = 0;
    const results = Promise.all(slow.map((one) => send(one).finally(() => (ended += 1))));
    await until('a connection to each receiver', () => reached === slow.length);
    await jest.advanceTimersByTimeAsync(WEBHOOK_DEADLINE_MS - 1);
    expect(ended).toBe(0);
    await jest.advanceTimersByTimeAsync(100);
    expect((await results).map(({ error }) => error)).toEqual(slow.map(() => 'no response within 5 s'));
  });
});
