import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { readFileSync } from 'node:fs';
import type http from 'node:http';
import type net from 'node:net';
import { brotliCompressSync, gzipSync } from 'node:zlib';
import { describe, expect, jest, test } from '@jest/globals';
import { createEgress, type Egress } from '@tocsin/egress/create-egress';
import { type Certificate, createCertificate } from '@tocsin/embedded/certificates';
import {
  check,
  holdProbeClock,
  type LocalTarget,
  loopbackEgress,
  pouring,
  responding,
  useLocalTargets,
} from './testing/local-targets.ts';
import type { ProbeTarget } from './probe.ts';

/** Name and result of each case in the documentation. */
const DOCUMENTED = [
  ...readFileSync(new URL('../../../docs/concepts/check-results.md', import.meta.url), 'utf8').matchAll(
    /^- `(UP|DOWN)`: (.+)$/gm,
  ),
].map(([, status = '', name = '']) => ({ name, status }));

const MIB = 1024 * 1024;
const TIMEOUT_MS = 150;
const HEAD_READ = 'http.client.response.finish';
const OK = 'HTTP/1.1 200 OK\r\n';
const BODY = 'Content-Length: 2\r\n\r\nok';
const CHUNKED = `${OK}Transfer-Encoding: chunked\r\n\r\n`;
const GZIP = gzipSync('the needle in the haystack, '.repeat(100));
const READS = { assertions: { bodyContains: 'needle' } } as const;

const targets = useLocalTargets();
const certificates = new Map<string, Certificate>();
certificates.set('valid', await createCertificate(['127.0.0.1', 'localhost']));
certificates.set('common name', await createCertificate(['localhost'], { alternativeNames: [] }));
certificates.set('other', await createCertificate(['other.test']));
certificates.set('expired', await createCertificate(['127.0.0.1'], { validDays: -1 }));

function certificate(name: string): Certificate {
  const found = certificates.get(name);
  if (found === undefined) throw new Error(`no certificate is called ${name}`);
  return found;
}

interface Case {
  readonly open: () => Promise<LocalTarget>;
  readonly egress?: () => Egress;
  readonly url?: (target: LocalTarget) => string;
  readonly changes?: Partial<ProbeTarget>;
  /** Expected fields of the result, besides its status. */
  readonly expected?: Readonly<Record<string, unknown>>;
  readonly detail?: RegExp | string;
}

/** Sends these bytes and closes the connection. */
function sends(bytes: string | Buffer, more: Partial<Case> = {}): Case {
  return { open: () => responding(targets, bytes), ...more };
}

/** Sends these bytes, then acts on the connection. */
function sendsThen(
  bytes: string | Buffer,
  then: (socket: net.Socket) => void,
  more: Partial<Case> = {},
): Case {
  const listener = (socket: net.Socket): void => {
    socket.once('data', () => socket.write(bytes, () => then(socket)));
  };
  return { open: () => targets.tcp(listener), ...more };
}

function resets(socket: net.Socket): void {
  socket.resetAndDestroy();
}

/** Sends these bytes, and acts on the connection once the check has read the head. */
function sendsThenOnceRead(
  bytes: string | Buffer,
  then: (socket: net.Socket) => void,
  more: Partial<Case> = {},
): Case {
  const listener = (socket: net.Socket): void => {
    const read = (): void => {
      unsubscribe(HEAD_READ, read);
      setImmediate(() => then(socket));
    };
    subscribe(HEAD_READ, read);
    socket.once('data', () => socket.write(bytes));
  };
  return { open: () => targets.tcp(listener), ...more };
}

function expires(): void {
  jest.advanceTimersByTime(TIMEOUT_MS);
}

function https(name: string, more: Partial<Case> = {}): Case {
  return {
    open: () => targets.https(certificate(name), (_request, response) => response.end('ok')),
    egress: () => loopbackEgress(certificate(name).ca),
    ...more,
  };
}

function gzipped(bytes: Buffer, more: Partial<Case> = {}): Case {
  const head = `${OK}Content-Encoding: gzip\r\nContent-Length: ${bytes.length}\r\n\r\n`;
  return sends(Buffer.concat([Buffer.from(head), bytes]), more);
}

/** Sets a cookie with these attributes and redirects. Only a request with the cookie gets through. */
function gate(location: string, attributes = ''): http.RequestListener {
  return (request, response) => {
    if (request.headers.cookie === 'pass=yes') response.end('ok');
    else response.writeHead(302, { location, 'set-cookie': `pass=yes${attributes}` }).end();
  };
}

/** Resolves every name of `shop.test` to this machine. */
const shop = (): Egress =>
  createEgress({
    allowCidrs: ['127.0.0.0/8'],
    lookup: (_name, _options, done) => done(null, [{ address: '127.0.0.1', family: 4 }]),
  });

const REFUSED = { latencyMs: 0, statusCode: null, errorReason: 'UNKNOWN_ERROR' } as const;
const BROKEN = { statusCode: 200, errorReason: 'UNKNOWN_ERROR' } as const;
/** Failure that the network of the checker may have caused. */
const CUT_OFF = { ...BROKEN, transportFailure: 'connection' } as const;
/** Failure that the network cannot have caused. */
const INVALID = { ...BROKEN, transportFailure: null } as const;
const malformed = (bytes: string): Case =>
  sends(bytes, { expected: { ...REFUSED, transportFailure: null }, detail: /^malformed response: / });

const CASES: Readonly<Record<string, Case>> = {
  'A certificate with a common name and no subject alternative name': https('common name', {
    url: ({ port }) => `https://localhost:${port}/`,
    expected: REFUSED,
    detail: /^certificate has no subject alternative name, and its common name does not count/,
  }),
  'A certificate for another name': https('other', {
    expected: REFUSED,
    detail: 'certificate is not valid for 127.0.0.1 (it is for other.test)',
  }),
  'A certificate for the name of a `Host` header only': https('other', {
    changes: { headers: { Host: 'other.test' } },
    expected: REFUSED,
    detail:
      'certificate is not valid for 127.0.0.1 (it is for other.test); the Host header does not change the name in TLS',
  }),
  'A server that requires a client certificate': https('valid', {
    open: () => targets.https({ ...certificate('valid'), requestCert: true }, () => undefined),
    expected: { errorReason: 'UNKNOWN_ERROR', transportFailure: 'connection' },
    detail: /^server requires a client certificate \(/,
  }),
  'A certificate of an unknown authority': https('valid', {
    egress: loopbackEgress,
    expected: REFUSED,
    detail: 'certificate is signed by an unknown authority (SELF_SIGNED_CERT_IN_CHAIN)',
  }),
  'A certificate that has expired': https('expired', {
    expected: REFUSED,
    detail: /^certificate expired (2[4-9]|3\d) hours ago \(CERT_HAS_EXPIRED\)$/,
  }),
  'A server that negotiates only HTTP/2 (ALPN)': https('valid', {
    open: () => targets.http2(certificate('valid')),
    expected: REFUSED,
    detail: /^server speaks only HTTP\/2, which checks do not \(/,
  }),
  'A server that speaks only HTTP/2, over plain TCP': {
    open: () => targets.http2(null),
    expected: REFUSED,
    detail: /^server speaks only HTTP\/2, which checks do not \(/,
  },
  'A body without a length that ends without a TLS `close_notify`': https('valid', {
    open: () =>
      targets.tls(certificate('valid'), (socket) => {
        socket.once('data', () => socket.write(`${OK}\r\nneedle`, () => socket.destroy()));
      }),
    changes: READS,
  }),

  'A folded header': sends(`${OK}X-Folded: one,\r\n two,\r\n\tthree\r\n${BODY}`),
  'Lines that end in LF alone': sends(`${OK}X-A: b\r\n${BODY}`.replaceAll('\r', '')),
  'The same `Content-Length` twice': sends(
    `${OK}Content-Length: 2\r\nX-A: b\r\ncontent-length:  2 \r\n\r\nok`,
  ),
  'Two different values of `Content-Length`': malformed(`${OK}Content-Length: 3\r\n${BODY}`),
  'A list of equal lengths: `Content-Length: 6, 6`': malformed(`${OK}Content-Length: 2, 2\r\n\r\nok`),
  '`Content-Length` and `Transfer-Encoding: chunked`': sends(
    `${OK}Content-Length: 99\r\nTransfer-Encoding: chunked\r\n\r\n6\r\nneedle\r\n0\r\n\r\n`,
    { changes: READS },
  ),
  'A `Content-Length` that is not a number': malformed(`${OK}Content-Length: 0x2\r\n\r\nok`),
  'A header without a colon': malformed(`${OK}broken header\r\n${BODY}`),
  'A header name with a space in it or before its colon': malformed(`${OK}X-A : b\r\n${BODY}`),
  'A NUL character in a header': malformed(`${OK}X-A: a\0b\r\n${BODY}`),
  'A space before the first header': sends(`${OK} X-A: b\r\n${BODY}`),
  'A version other than 0.9, 1.0, 1.1 or 2.0 in the status line': malformed(`HTTP/1.2 200 OK\r\n${BODY}`),
  'HTTP/1.0': sends('HTTP/1.0 200 OK\r\n\r\nok'),
  'HTTP/0.9: a body without a head': malformed('<html>ok</html>'),
  'A status of two or four digits': malformed(`HTTP/1.1 2000 OK\r\n${BODY}`),
  'A head of more than 64 KiB': malformed(`${OK}X-A: ${'b'.repeat(65 * 1_024)}\r\n${BODY}`),
  'A head that breaks off': sends(`${OK}Content-Le`, {
    expected: { ...REFUSED, transportFailure: 'connection' },
    detail: 'connection closed before a response arrived',
  }),
  'A few interim responses (1xx) before the response': sends(
    `HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Hints\r\nContent-Length: 7\r\n\r\n${OK}${BODY}`,
  ),
  'More than 20 interim responses': sends('HTTP/1.1 102 Processing\r\n\r\n'.repeat(21) + OK + BODY, {
    expected: { ...REFUSED, transportFailure: null },
  }),
  '101 Switching Protocols': sends('HTTP/1.1 101 Switching\r\nConnection: Upgrade\r\nUpgrade: ws\r\n\r\n', {
    expected: { statusCode: 101, errorReason: 'HTTP_101' },
  }),
  '300, 304 or 305': sends('HTTP/1.1 305 Use Proxy\r\nLocation: /\r\nContent-Length: 0\r\n\r\n', {
    expected: { statusCode: 305 },
  }),

  'Bytes after a complete body': sends(`${OK}Connection: close\r\n${BODY} and more`),
  'A second response after the first': sends(OK + BODY + OK + BODY),
  'A reset after a complete body': sendsThen(OK + BODY, resets),
  'A body that is shorter than its `Content-Length`': sends(`${OK}Content-Length: 100\r\n\r\nneedle`, {
    expected: CUT_OFF,
    detail: 'connection closed before the response was complete, 6 bytes into the body',
  }),
  'Chunks without the last one': sends(`${CHUNKED}6\r\nneedle\r\n`, {
    expected: CUT_OFF,
    detail: 'connection closed before the response was complete, 6 bytes into the body',
  }),
  'A reset in the body': sendsThenOnceRead(`${OK}Content-Length: 100\r\n\r\nneedle`, resets, {
    expected: CUT_OFF,
    detail: 'connection reset while reading the body',
  }),
  'A body that hangs': sendsThenOnceRead(`${OK}Content-Length: 100\r\n\r\nneedle`, expires, {
    changes: { timeoutMs: TIMEOUT_MS },
    expected: {
      statusCode: 200,
      errorReason: 'TIMEOUT',
      latencyMs: TIMEOUT_MS,
      transportFailure: 'connection',
    },
    detail: /^response not complete within 0\.15 s \(headers after \d+ ms\)$/,
  }),
  'Chunks whose sizes are garbage': sends(`${CHUNKED}xyz\r\nneedle\r\n0\r\n\r\n`, {
    expected: INVALID,
    detail: /^malformed response: Invalid character in chunk size .+ while reading the body$/,
  }),
  'Chunk sizes that are followed by spaces': sends(`${CHUNKED}2  \r\nok\r\n0  \r\n\r\n`),
  'Chunks with no line end between them': sends(`${CHUNKED}2\r\nok2\r\nok\r\n0\r\n\r\n`),
  'A body without a length that ends with the connection': sends(`${OK}\r\nok`),
  'A body without a length that ends with a reset': sendsThenOnceRead(`${OK}\r\nneedle`, resets, {
    expected: BROKEN,
  }),
  'A body without an end': { open: () => pouring(targets, `${OK}\r\n`, 'x'.repeat(65_536)) },
  'A body without an end in chunks of a byte': sendsThen(
    CHUNKED + '1\r\nx\r\n'.repeat(65_537),
    () => undefined,
  ),
  'A camera stream (`Content-Type: multipart/x-mixed-replace`)': sendsThen(
    `${OK}Content-Type: multipart/x-mixed-replace; boundary=frame\r\n\r\n--frame\r\n`,
    () => undefined,
    { expected: { timings: expect.objectContaining({ download: null }) } },
  ),
  'An event stream (`Content-Type: text/event-stream`)': sendsThen(
    `${OK}Content-Type: Text/Event-Stream; charset=utf-8\r\n\r\ndata: x\n\n`,
    () => undefined,
    { expected: { timings: expect.objectContaining({ download: null }) } },
  ),
  'A broken body after a status that fails': sends('HTTP/1.1 503 Away\r\nContent-Length: 100\r\n\r\nneedle', {
    expected: { statusCode: 503, errorReason: 'HTTP_503', transportFailure: null },
  }),
  'A `Content-Length` with `HEAD`, 204 or 304': sends('HTTP/1.1 304 Same\r\nContent-Length: 100\r\n\r\n'),
  'A gzip body that is cut off, without an assertion on it': gzipped(GZIP.subarray(0, -8)),
  'A gzip body that is cut off, with `bodyContains`': gzipped(GZIP.subarray(0, -8), {
    changes: READS,
    expected: INVALID,
    detail: 'gzip body is not valid or not complete',
  }),
  'A gzip body of more than 1 MiB, with `bodyContains`': gzipped(
    Buffer.concat([GZIP, gzipSync(Buffer.alloc(2 * MIB, 'x'), { level: 0 })]),
    { changes: READS },
  ),
  'A gzip body with bytes after its end, with `bodyContains`': gzipped(
    Buffer.concat([GZIP, Buffer.from('more')]),
    { changes: READS, expected: BROKEN, detail: 'gzip body is not valid or not complete' },
  ),
  'A `Content-Encoding` that is none, with `bodyContains`': sends(
    `${OK}Content-Encoding: UTF-8\r\nContent-Length: 6\r\n\r\nneedle`,
    { changes: READS },
  ),
  'A Brotli body, with `bodyContains`': {
    open: () =>
      targets.http((_request, response) => {
        response.writeHead(200, { 'content-encoding': 'br' }).end(brotliCompressSync('needle'));
      }),
    changes: READS,
    expected: INVALID,
    detail: 'body has content coding “br”, which checks cannot read',
  },

  'A redirect that needs its own cookie': { open: () => targets.http(gate('/')) },
  'A redirect that needs a cookie of the parent domain': {
    open: () => {
      // The port is known only once the target is open.
      const opened: Promise<LocalTarget> = targets.http((request, response) => {
        void opened.then(({ port }) =>
          gate(`http://www.shop.test:${port}/`, '; Domain=shop.test')(request, response),
        );
      });
      return opened;
    },
    egress: shop,
    url: ({ port }) => `http://shop.test:${port}/`,
  },
  'A redirect whose body is broken': {
    open: () =>
      targets.tcp((socket) => {
        socket.once('data', (request) => {
          const moved = 'HTTP/1.1 302 Found\r\nLocation: /next\r\nContent-Length: 100\r\n\r\nneedle';
          socket.end(request.toString().startsWith('GET /next') ? OK + BODY : moved);
        });
      }),
  },
  'More than five redirects': {
    open: () =>
      targets.http((request, response) => {
        response.writeHead(302, { location: `${request.url}x` }).end();
      }),
    expected: { statusCode: 302, errorReason: 'UNKNOWN_ERROR', transportFailure: null },
    detail: 'more than 5 redirects',
  },
  'A redirect without a `Location`': sends('HTTP/1.1 302 Found\r\nContent-Length: 0\r\n\r\n', {
    expected: { statusCode: 302, errorReason: 'UNKNOWN_ERROR' },
  }),
  'A redirect to another scheme than http or https': sends(
    'HTTP/1.1 302 Found\r\nLocation: ftp://127.0.0.1/\r\nContent-Length: 0\r\n\r\n',
    { expected: { statusCode: 302, errorReason: 'UNKNOWN_ERROR' } },
  ),
};

test('the documentation lists the same cases', () => {
  expect(DOCUMENTED.map(({ name }) => name).toSorted()).toEqual(Object.keys(CASES).toSorted());
});

describe('as documented', () => {
  test.each(DOCUMENTED)('$name: $status', async ({ name, status }) => {
    const { open, egress = loopbackEgress, url, changes, expected, detail } = CASES[name] ?? sends('');
    if (changes?.timeoutMs !== undefined) holdProbeClock();
    const target = await open();
    const result = await check(url?.(target) ?? `${target.origin}/`, egress(), changes);
    expect(result).toMatchObject({ status, ...expected });
    if (typeof detail === 'string') expect(result.errorDetail).toBe(detail);
    else if (detail !== undefined) expect(result.errorDetail).toMatch(detail);
    await target.allClosed();
  });
});
