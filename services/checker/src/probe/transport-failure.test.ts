import { afterEach, expect, jest, test } from '@jest/globals';
import { createEgress } from '@tocsin/egress/create-egress';
import {
  check,
  createLocalTargets,
  holdProbeClock,
  type LocalTargets,
  loopbackEgress,
  responding,
} from '../testing/local-targets.ts';
import type { ProbeTarget } from './probe.ts';
import type { TransportFailure } from './request-hop.ts';

const TIMEOUT_MS = 1_000;
const OK = 'HTTP/1.1 200 OK\r\n';
const targets = createLocalTargets();

afterEach(async () => {
  jest.useRealTimers();
  await targets.closeAll();
});

type Open = (targets: LocalTargets) => Promise<string>;

const sends =
  (bytes: string): Open =>
  async () =>
    (await responding(targets, bytes)).origin;

const redirects =
  (to: () => Promise<string>): Open =>
  async () => {
    const location = await to();
    return (
      await responding(targets, `HTTP/1.1 302 Found\r\nLocation: ${location}\r\nContent-Length: 0\r\n\r\n`)
    ).origin;
  };

const refuses = async (): Promise<string> => `http://127.0.0.1:${await targets.closedPort()}`;

/** Names that end in `.test` do not exist. */
const egress = createEgress({
  allowCidrs: ['127.0.0.0/8'],
  lookup: (hostname, _options, done) => {
    const error = Object.assign(new Error(`getaddrinfo ENOTFOUND ${hostname}`), {
      code: 'ENOTFOUND',
      hostname,
    });
    if (hostname.endsWith('.test')) setImmediate(done, error, []);
    else setImmediate(done, null, [{ address: '127.0.0.1', family: 4 }]);
  },
});

const CASES: readonly (readonly [string, TransportFailure | null, Open, Partial<ProbeTarget>?])[] = [
  ['a name that does not exist', 'lookup', async () => 'http://nowhere.test'],
  ['a refused connection', 'connection', refuses],
  [
    'a refused connection to a name',
    'connection',
    async () => (await refuses()).replace('127.0.0.1', 'named.example'),
  ],
  ['a connection that closes before a response', 'connection', sends('')],
  [
    'a reset',
    'connection',
    async () => (await targets.tcp((socket) => void socket.resetAndDestroy())).origin,
  ],
  ['a head that breaks off', 'connection', sends(`${OK}Content-Le`)],
  ['a body that is too short', 'connection', sends(`${OK}Content-Length: 100\r\n\r\nneedle`)],
  ['chunks without an end', 'connection', sends(`${OK}Transfer-Encoding: chunked\r\n\r\n6\r\nneedle\r\n`)],
  [
    'a server without TLS',
    'connection',
    async () => (await sends('plain text\r\n\r\n')(targets)).replace('http:', 'https:'),
  ],
  ['a redirect to a refused connection', 'connection', redirects(refuses)],
  ['a redirect to a name that does not exist', 'lookup', redirects(async () => 'http://nowhere.test')],
  ['a healthy response', null, sends(`${OK}Content-Length: 0\r\n\r\n`)],
  ['a status that fails', null, sends('HTTP/1.1 500 No\r\nContent-Length: 0\r\n\r\n')],
  [
    'a text that is missing',
    null,
    sends(`${OK}Content-Length: 2\r\n\r\nno`),
    { assertions: { bodyContains: 'yes' } },
  ],
  [
    'a body that cannot be decoded',
    null,
    sends(`${OK}Content-Encoding: br\r\nContent-Length: 2\r\n\r\nno`),
    { assertions: { bodyContains: 'yes' } },
  ],
  ['a response that is not HTTP', null, sends('SSH-2.0-OpenSSH_9.2\r\n')],
  ['malformed chunks', null, sends(`${OK}Transfer-Encoding: chunked\r\n\r\nxyz\r\n`)],
  ['lengths that differ', null, sends(`${OK}Content-Length: 1\r\nContent-Length: 2\r\n\r\nab`)],
  ['interim responses without an end', null, sends('HTTP/1.1 102 Processing\r\n\r\n'.repeat(30))],
  ['a blocked address', null, async () => 'http://10.0.0.1'],
  ['a redirect to a blocked address', null, redirects(async () => 'http://10.0.0.1')],
  ['a redirect to another scheme', null, redirects(async () => 'ftp://127.0.0.1')],
  ['redirects without an end', null, redirects(async () => '/')],
  ['an invalid URL', null, async () => 'ftp://127.0.0.1'],
  ['a header that cannot be sent', null, sends(OK), { headers: { 'X-Text': 'snow ☃' } }],
];

test.each(CASES)('%s: %s', async (_name, expected, open, changes = {}) => {
  const result = await check(await open(targets), egress, changes);
  expect(result.transportFailure).toBe(expected);
});

const TIMEOUTS: readonly (readonly [string, TransportFailure, string])[] = [
  ['of a lookup', 'lookup', 'hangs.example'],
  ['of a target by name', 'connection', 'named.example'],
  ['of a target by address', 'connection', '127.0.0.1'],
];

test.each(TIMEOUTS)('a time-out %s: %s', async (_name, expected, host) => {
  holdProbeClock();
  let startWaiting: () => void;
  const isWaiting = new Promise<void>((resolve) => (startWaiting = resolve));
  const silent = await targets.tcp((socket) => socket.once('data', () => startWaiting()));
  const hanging = createEgress({
    allowCidrs: ['127.0.0.0/8'],
    lookup: (hostname, _options, done) => {
      if (hostname === 'hangs.example') startWaiting();
      else setImmediate(done, null, [{ address: '127.0.0.1', family: 4 }]);
    },
  });
  const probing = check(`http://${host}:${silent.port}`, hanging, { timeoutMs: TIMEOUT_MS });
  await isWaiting;
  jest.advanceTimersByTime(TIMEOUT_MS);
  expect(await probing).toMatchObject({ errorReason: 'TIMEOUT', transportFailure: expected });
});

test('a time-out in the body is one of the connection', async () => {
  holdProbeClock();
  const slow = await targets.tcp((socket) => {
    socket.once('data', () => socket.write(`${OK}Content-Length: 9\r\n\r\nneedle`));
    socket.once('data', () => setImmediate(() => jest.advanceTimersByTime(TIMEOUT_MS)));
  });
  const result = await check(slow.origin, loopbackEgress(), { timeoutMs: TIMEOUT_MS });
  expect(result).toMatchObject({ errorReason: 'TIMEOUT', transportFailure: 'connection' });
});
