import { expect, jest, test } from '@jest/globals';
import { createEgress } from '@tocsin/egress/create-egress';
import { check, holdProbeClock, responding, useLocalTargets } from './testing/local-targets.ts';
import type { ProbeTarget } from './probe.ts';
import type { TransportFailure } from './request-hop.ts';

const TIMEOUT_MS = 1_000;
const OK = 'HTTP/1.1 200 OK\r\n';
const READS = { assertions: { bodyContains: 'yes' } } as const;
const targets = useLocalTargets();

type Open = () => Promise<string>;

const sends =
  (bytes: string): Open =>
  async () =>
    (await responding(targets, bytes)).origin;

const redirects =
  (to: Open): Open =>
  async () =>
    sends(`HTTP/1.1 302 Found\r\nLocation: ${await to()}\r\nContent-Length: 0\r\n\r\n`)();

const refuses: Open = async () => `http://127.0.0.1:${await targets.closedPort()}`;
const at =
  (url: string): Open =>
  async () =>
    url;

/** Names that end in `.test` do not exist, and others are this machine. `hangs.example` is never resolved. */
const egress = createEgress({
  allowCidrs: ['127.0.0.0/8'],
  lookup: (hostname, _options, done) => {
    const error = Object.assign(new Error(`no ${hostname}`), { code: 'ENOTFOUND', hostname });
    if (hostname.endsWith('.test')) setImmediate(done, error, []);
    else if (hostname !== 'hangs.example') setImmediate(done, null, [{ address: '127.0.0.1', family: 4 }]);
  },
});

const CASES: readonly (readonly [string, TransportFailure | null, Open, Partial<ProbeTarget>?])[] = [
  ['a name that does not exist', 'lookup', at('http://nowhere.test')],
  [
    'a refused connection to a name',
    'connection',
    async () => (await refuses()).replace('127.0.0.1', 'named.example'),
  ],
  ['a connection that closes before a response', 'connection', sends('')],
  [
    'a server without TLS',
    'connection',
    async () => (await sends('plain text\r\n\r\n')()).replace('http:', 'https:'),
  ],
  ['a redirect to a refused connection', 'connection', redirects(refuses)],
  ['a redirect to a name that does not exist', 'lookup', redirects(at('http://nowhere.test'))],
  ['a text that is missing', null, sends(`${OK}Content-Length: 2\r\n\r\nno`), READS],
  ['a blocked address', null, at('http://10.0.0.1')],
  ['a redirect to a blocked address', null, redirects(at('http://10.0.0.1'))],
  ['a header that cannot be sent', null, sends(OK), { headers: { 'X-Text': 'snow ☃' } }],
];

test.each(CASES)('%s: %s', async (_name, expected, open, changes = {}) => {
  const result = await check(await open(), egress, changes);
  expect(result.transportFailure).toBe(expected);
});

const NO_RESPONSE = /^no response within 1 s \(connected after \d+ ms\)$/;
const NO_HANDSHAKE = /^TLS handshake not complete within 1 s \(connected after \d+ ms\)$/;

test.each<[string, TransportFailure, string, number, RegExp]>([
  ['of a lookup', 'lookup', 'http://hangs.example', 0, /^name lookup timed out after 1 s$/],
  ['of a target by name', 'connection', 'http://named.example', TIMEOUT_MS, NO_RESPONSE],
  ['of a target by address', 'connection', 'http://127.0.0.1', TIMEOUT_MS, NO_RESPONSE],
  ['of a TLS handshake', 'connection', 'https://127.0.0.1', TIMEOUT_MS, NO_HANDSHAKE],
])('a time-out %s: %s', async (_name, transportFailure, url, latencyMs, detail) => {
  holdProbeClock();
  let startWaiting = (): void => undefined;
  const isWaiting = new Promise<void>((resolve) => (startWaiting = resolve));
  const silent = await targets.tcp((socket) => socket.once('data', startWaiting));
  const probing = check(`${url}:${silent.port}`, egress, { timeoutMs: TIMEOUT_MS });
  await (transportFailure === 'connection' ? isWaiting : new Promise(setImmediate));
  jest.advanceTimersByTime(TIMEOUT_MS);
  expect(await probing).toMatchObject({
    status: 'DOWN',
    statusCode: null,
    errorReason: 'TIMEOUT',
    errorDetail: expect.stringMatching(detail),
    latencyMs,
    transportFailure,
  });
});
