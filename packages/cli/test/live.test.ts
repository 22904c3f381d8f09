import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { brotliCompressSync, gzipSync } from 'node:zlib';
import { afterEach, expect, jest, test } from '@jest/globals';
import { apply } from '@tocsin-monitor/cli/commands/apply';
import { exportMonitors } from '@tocsin-monitor/cli/commands/export';
import { tail, type TailFlags } from '@tocsin-monitor/cli/commands/tail';
import { trigger } from '@tocsin-monitor/cli/commands/trigger';
import { ApiClient } from '@tocsin-monitor/cli/http/api-client';
import { ApiError } from '@tocsin-monitor/cli/http/api-error';
import type { Event } from '@tocsin/contracts/monitors/events';
import { createMonitorSchema, type Monitor } from '@tocsin/contracts/monitors/monitor';
import { fakeTerminal, folderWith, runIn } from './fake-terminal.ts';

const at = (second: number): string => new Date(Date.UTC(2026, 0, 1) + second * 1_000).toISOString();

const INPUT = createMonitorSchema.parse({ name: 'a', url: 'https://x.example', externalId: 'a' });

function monitorOf(id: string, lastCheckedAt: string | null): Monitor {
  const input = { ...INPUT, name: id, externalId: id };
  const stamps = { statusSince: at(0), createdAt: at(0), updatedAt: at(0) };
  return { id, ...input, status: 'UP', lastCheckedAt, ...stamps };
}

function eventOf(monitorId: string, second: number, status: 'UP' | 'DOWN' = 'UP'): Event {
  const timings = { dns: null, tcp: null, tls: null, firstByte: null, download: null };
  return {
    id: `${monitorId}-${second}`,
    monitorId,
    monitorName: monitorId,
    status,
    latency: 1,
    statusCode: 200,
    errorReason: null,
    errorDetail: null,
    region: 'default',
    timestamp: at(second),
    source: 'schedule',
    url: null,
    timings,
    runbookUrl: null,
  };
}

/** An API in memory whose events are recorded between polls. */
class FakeApi implements Pick<ApiClient, 'listMonitors' | 'listEvents'> {
  readonly events = new Map<string, Event[]>();
  looks = 0;
  asked = 0;
  onLook: (look: number) => void = () => undefined;

  add(id: string, ...seconds: number[]): void {
    const events = seconds.map((second) => eventOf(id, second));
    this.events.set(id, [...(this.events.get(id) ?? []), ...events]);
  }

  listMonitors(): Promise<Monitor[]> {
    this.looks += 1;
    try {
      this.onLook(this.looks);
    } catch (error) {
      return Promise.reject(error);
    }
    return Promise.resolve(
      [...this.events].map(([id, events]) => monitorOf(id, events.at(-1)?.timestamp ?? null)),
    );
  }

  listEvents(id: string, { limit, since }: { limit: number; since?: string }): Promise<Event[]> {
    this.asked += 1;
    const events = this.events.get(id) ?? [];
    return Promise.resolve(
      since === undefined
        ? events.slice(-limit)
        : events.filter(({ timestamp }) => timestamp > since).slice(0, limit),
    );
  }
}

async function idsOf(api: FakeApi, flags: Partial<TailFlags>, words: string[] = []): Promise<string[]> {
  const terminal = fakeTerminal('/', {});
  api.onLook = ((inner) => (look: number) => {
    inner(look);
    if (look > 40) terminal.stop();
  })(api.onLook);
  await tail(api, terminal, words, { limit: 10, every: 0.001, json: true, ...flags });
  return terminal.printed.map((line) => (JSON.parse(line) as Event).id);
}

test('tail prints the latest events of all monitors, oldest first', async () => {
  const api = new FakeApi();
  api.add('a', 1, 4, 6);
  api.add('b', 2, 3, 5);
  expect(await idsOf(api, { limit: 4 })).toEqual(['b-3', 'a-4', 'b-5', 'a-6']);
  expect(await idsOf(api, { since: at(4) })).toEqual(['b-5', 'a-6']);
  expect(await idsOf(api, { limit: 0 })).toEqual([]);
});

test('tail -f prints each event once, through outages, several pages, and created and deleted monitors', async () => {
  const api = new FakeApi();
  api.add('a', 1);
  api.add('b', 2);
  const down = new ApiError('away.', null);
  api.onLook = (look) => {
    if (look === 3) api.add('a', 3);
    if (look === 4) api.add('c', 4);
    if (look === 6) api.events.delete('b');
    if (look >= 8 && look < 14) {
      api.add('a', look);
      throw look % 2 === 0 ? down : new ApiError('busy.', 503);
    }
    if (look === 20) api.add('c', ...Array.from({ length: 1_203 }, (_, index) => 20 + index));
  };
  const ids = await idsOf(api, { follow: true });
  expect(ids).toEqual([
    'a-1',
    'b-2',
    'a-3',
    'c-4',
    ...[8, 9, 10, 11, 12, 13].map((second) => `a-${second}`),
    ...Array.from({ length: 1_203 }, (_, index) => `c-${20 + index}`),
  ]);
});

test('tail asks only monitors that may have an event to print', async () => {
  const api = new FakeApi();
  for (let index = 0; index < 500; index += 1) api.add(`m${index}`, index, index + 0.5);
  const ids = await idsOf(api, { limit: 3 });
  expect(ids).toEqual(['m498-498.5', 'm499-499', 'm499-499.5']);
  expect(api.asked).toBeLessThan(20);
  // And none of the others is forgotten.
  api.onLook = (look) => {
    if (look === 4) api.add('m7', 9_000);
  };
  expect(await idsOf(api, { limit: 1, follow: true })).toEqual(['m499-499.5', 'm7-9000']);
});

test('tail -f reports deleted monitors and ends with the last one', async () => {
  const api = new FakeApi();
  api.add('a', 1);
  api.add('b', 2);
  api.onLook = (look) => {
    if (look === 4) api.events.delete('a');
    if (look === 6) api.add('b', 3);
    if (look === 8) api.events.delete('b');
  };
  const terminal = fakeTerminal('/');
  const flags = { limit: 10, every: 0.001, json: true, follow: true };
  expect(await tail(api, terminal, ['a', 'b'], flags)).toBe(0);
  expect(terminal.notes).toEqual(['The monitor "a" was deleted.', 'The monitor "b" was deleted.']);
  expect(terminal.printed).toHaveLength(3);
});

test('tail -f ends after a permanent error, such as a deleted API key', async () => {
  const api = new FakeApi();
  api.add('a', 1);
  api.onLook = (look) => {
    if (look === 3) throw new ApiError('This API key is not known.', 401);
  };
  await expect(idsOf(api, { follow: true })).rejects.toMatchObject({ status: 401 });
});

test('trigger: the exit code is the result', async () => {
  const results: ('UP' | 'DOWN')[] = ['UP', 'DOWN', 'DOWN', 'UP'];
  const api = {
    listMonitors: () => Promise.resolve([monitorOf('a', null), monitorOf('b', null)]),
    trigger: (id: string) => Promise.resolve(eventOf(id, 1, results.shift())),
  };
  const ask = (words: string[]): Promise<number> => trigger(api, fakeTerminal('/'), words, { json: true });
  expect([await ask(['a']), await ask(['a']), await ask(['a', 'b'])]).toEqual([0, 2, 2]);
});

test('trigger prints earlier results if a later check fails', async () => {
  const api = {
    listMonitors: () => Promise.resolve([monitorOf('a', null), monitorOf('b', null)]),
    trigger: (id: string) =>
      id === 'a' ? Promise.resolve(eventOf(id, 1)) : Promise.reject(new ApiError('No checker.', 504)),
  };
  const terminal = fakeTerminal('/');
  await expect(trigger(api, terminal, ['a', 'b'], {})).rejects.toThrow('No checker.');
  expect(terminal.printed).toEqual([expect.stringContaining('  a')]);
});

test('trigger --wait checks each monitor before it repeats one', async () => {
  const results = new Map([
    ['a', ['DOWN', 'DOWN', 'UP']],
    ['b', ['UP']],
    ['c', ['DOWN', 'UP']],
  ] as const);
  const left = new Map([...results].map(([id, statuses]) => [id, [...statuses]]));
  const asked: string[] = [];
  const api = {
    listMonitors: () => Promise.resolve([...results.keys()].map((id) => monitorOf(id, null))),
    trigger: (id: string) => {
      asked.push(id);
      if (asked.length === 2) return Promise.reject(new ApiError('A checker is deployed itself.', 504));
      return Promise.resolve(eventOf(id, asked.length, left.get(id as 'a')?.shift()));
    },
  };
  const terminal = fakeTerminal('/');
  expect(await trigger(api, terminal, ['a', 'b', 'c'], { wait: 60 }, 1)).toBe(0);
  expect(asked.join('')).toBe('abcabca');
  expect(terminal.printed.map((line) => line.trim().split(/\s+/)[1])).toEqual(['UP', 'UP', 'UP']);
});

const servers: Server[] = [];
afterEach(() => {
  jest.useRealTimers();
  for (const server of servers.splice(0)) {
    server.close();
    server.closeAllConnections();
  }
});

/** A server with one handler per request. */
async function clientOf(
  answers: ((req: IncomingMessage, res: ServerResponse) => void)[],
): Promise<{ client: ApiClient; url: string; retries: string[]; seen: IncomingMessage[]; bodies: string[] }> {
  const seen: IncomingMessage[] = [];
  const bodies: string[] = [];
  const server = createServer((req, res) => {
    seen.push(req);
    let body = '';
    req.on('data', (bytes: Buffer) => (body += String(bytes)));
    req.once('end', () => {
      bodies.push(body);
      answers.shift()?.(req, res);
    });
  });
  servers.push(server);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const retries: string[] = [];
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const client = new ApiClient({
    url,
    apiKey: 'key',
    onRetry: (reason, seconds) => void retries.push(`${reason.replace(/:\d+/, '')} ${seconds}`),
    signal: new AbortController().signal,
    backoffMs: 1,
    timeoutMs: 600_000,
  });
  return { client, url, retries, seen, bodies };
}

test('requests are repeated after temporary errors', async () => {
  const { client, retries, seen } = await clientOf([
    (_, res) => res.writeHead(429, { 'Retry-After': '0.05' }).end('{}'),
    (_, res) => res.writeHead(503).end('{}'),
    (_, res) => res.end(JSON.stringify({ event: eventOf('a', 1) })),
    (req) => req.socket.destroy(),
    (_, res) => res.writeHead(502).end('{}'),
    (_, res) => res.end(JSON.stringify({ monitors: [] })),
  ]);
  expect(await client.trigger('a', null)).toMatchObject({ id: 'a-1' });
  expect(await client.listMonitors()).toEqual([]);
  expect(retries.map((line) => line.replace(/ \(.*\)/, ''))).toEqual([
    'http://127.0.0.1 responded with 429 0.05',
    'http://127.0.0.1 responded with 503 0',
    'http://127.0.0.1 cannot be reached 0',
    'http://127.0.0.1 responded with 502 0',
  ]);
  expect(seen).toHaveLength(6);
});

test('a trigger is not repeated after its deadline, whatever the server asks for', async () => {
  const { client, retries } = await clientOf([
    (_, res) => res.writeHead(503, { 'Retry-After': '60' }).end('{}'),
  ]);
  await expect(client.trigger('a', null, performance.now() + 50_000)).rejects.toMatchObject({ status: 503 });
  expect(retries).toEqual([]);
});

test('a trigger that may have run is reported and not repeated', async () => {
  const { client, retries, seen } = await clientOf([
    (req) => req.socket.destroy(),
    (_, res) => res.writeHead(502).end('<html>'),
  ]);
  const text = 'cannot be reached.*The check may have run nevertheless';
  await expect(client.trigger('a', null)).rejects.toThrow(new RegExp(text));
  await expect(client.trigger('a', null)).rejects.toMatchObject({ status: 502 });
  expect([seen.length, retries]).toEqual([2, []]);
});

test('no content coding is requested, and none is decoded', async () => {
  const answer = Buffer.from(JSON.stringify({ monitors: [] }));
  const { client, seen } = await clientOf(
    [brotliCompressSync(answer), gzipSync(answer)].map(
      (bytes, index) => (_, res) =>
        res.writeHead(200, { 'Content-Encoding': ['br', 'gzip'][index] }).end(bytes),
    ),
  );
  for (let request = 0; request < 2; request += 1)
    await expect(client.listMonitors()).rejects.toThrow(/Check TOCSIN_URL\./);
  expect(seen.map(({ headers }) => headers['accept-encoding'])).toEqual([undefined, undefined]);
});

test('another server is reported, and gets the key only once', async () => {
  const { client, seen } = await clientOf([
    (_, res) => res.writeHead(301, { Location: 'https://elsewhere.example' }).end(),
    (_, res) => res.writeHead(404).end('<html>'),
    (_, res) => res.end('<html>'),
    (_, res) => res.end('{"status":"ok"}'),
    (_, res) => res.writeHead(413).end('<html>'),
    (_, res) => res.writeHead(504).end('<html>'),
  ]);
  for (let request = 0; request < 4; request += 1)
    await expect(client.listMonitors()).rejects.toThrow(/Check TOCSIN_URL\./);
  await expect(client.listMonitors()).rejects.toThrow(/A proxy probably limits the size of requests/);
  await expect(client.listMonitors()).rejects.toThrow(/A proxy probably got no response from Tocsin in time/);
  expect(seen).toHaveLength(6);
});

type Answer = (req: IncomingMessage, res: ServerResponse) => void;
const json =
  (body: unknown, headers: Record<string, string> = {}): Answer =>
  (_, res) =>
    res.writeHead(200, headers).end(JSON.stringify(body));
const lost: Answer = (req) => req.socket.destroy();
const badGateway: Answer = (_, res) => res.writeHead(502).end('<html>');
const unavailable: Answer = (_, res) => res.writeHead(503).end('{}');
const tooMany: Answer = (_, res) => res.writeHead(429).end('{}');
const otherVersion: Answer = (_, res) =>
  res.writeHead(412).end(JSON.stringify({ status: 412, detail: 'It is not as it was.', instance: 'r' }));

function setOf(changed: boolean): object {
  const [some, none] = [[{ id: null, externalId: 'a' }], []];
  return {
    source: 'lost',
    dryRun: true,
    changed,
    created: changed ? some : none,
    updated: [],
    deleted: [],
    unchanged: changed ? none : some,
    unlisted: [],
  };
}
const planned = json(setOf(true), { ETag: '"1"' });

/** A confirmed apply against a server with these responses. */
async function applyTo(
  answers: Answer[],
  flags: { json?: boolean } = {},
): Promise<{ code: number; error: unknown; told: string; out: string; bodies: string[] }> {
  const { client, bodies } = await clientOf([planned, ...answers]);
  const file = 'source: lost\nmonitors: [{ externalId: a, name: a, url: "https://a.example" }]\n';
  const terminal = fakeTerminal(await folderWith({ 'tocsin.yaml': file }), {}, true);
  let [code, error]: [number, unknown] = [-1, null];
  try {
    code = await apply(client, terminal, flags);
  } catch (caught) {
    error = caught;
  }
  const [out, notes] = [terminal.printed, terminal.notes].map((lines) => lines.join('\n'));
  return { code, error, told: `${out}\n${notes}\n${String(error)}`, out: out ?? '', bodies };
}

test.each([
  ['a broken connection', [lost]],
  ['a 502', [badGateway]],
  ['a 503, as after a COMMIT whose response was lost', [unavailable]],
  ['one of several', [lost, tooMany]],
])('an apply whose response was lost (%s), and that succeeded, reports success', async (_, failures) => {
  const ran = await applyTo([...failures, otherVersion, json(setOf(false))]);
  expect([ran.error, ran.code]).toEqual([null, 0]);
  expect(ran.out).toMatch(/\nsource lost: applied; the first response was lost$/);
  expect(ran.told).not.toContain('Nothing');
  const asked = ran.bodies.map((body) => (JSON.parse(body) as { dryRun: boolean }).dryRun);
  expect(asked).toEqual([true, ...failures.map(() => false), false, true]);
});

test('the same with --json: stdout has the current result of the API', async () => {
  const ran = await applyTo([lost, otherVersion, json(setOf(false))], { json: true });
  expect(ran.code).toBe(0);
  expect(JSON.parse(ran.out)).toEqual({ sets: [{ ...setOf(false), dryRun: false }] });
  expect(ran.told).toContain('source lost: applied; the first response was lost');
});

test.each([
  ['something differs still', json(setOf(true))],
  ['it cannot be asked', (_, res) => res.writeHead(500).end('{}')],
] as [string, Answer][])(
  'an apply whose response was lost reports that the result is unknown: %s',
  async (_, now) => {
    const ran = await applyTo([lost, otherVersion, now]);
    expect(String(ran.error)).toMatch(/source lost.*not known.*Run diff or apply again/);
    expect(ran.told).not.toContain('Nothing');
  },
);

test('an apply that was refused reports that and sends nothing more', async () => {
  for (const before of [[], [tooMany]]) {
    const ran = await applyTo([...before, otherVersion]);
    expect(String(ran.error)).toContain('has changed since it was shown');
    expect(ran.told).not.toContain('not known');
    expect(ran.bodies).toHaveLength(2 + before.length);
  }
});

test('export --adopt whose response was lost checks whether the monitor was adopted', async () => {
  const monitor = monitorOf('a', null);
  const adopted = { ...monitor, source: 'lost', name: 'Renamed since' };
  const read = json({ monitor }, { ETag: '"1"' });
  const adopting = async (now: object): Promise<string> => {
    const { client } = await clientOf([
      json({ monitors: [monitor] }),
      read,
      lost,
      otherVersion,
      json({ monitor: now }),
    ]);
    const terminal = fakeTerminal('/');
    expect(await exportMonitors(client, terminal, { adopt: true, source: 'lost' })).toBe(0);
    return terminal.printed.join('\n');
  };
  expect(await adopting(adopted)).toContain('name: Renamed since');
  await expect(adopting({ ...monitor, name: 'b' })).rejects.toThrow(/not known whether "a" was adopted/);
});

const monitors = json({ monitors: [monitorOf('a', null), monitorOf('b', null)] });
const checked =
  (status: 'UP' | 'DOWN', afterMs = 0): Answer =>
  (_, res) =>
    void setTimeout(() => res.end(JSON.stringify({ event: eventOf('a', 1, status) })), afterMs);
const hanging: Answer = () => undefined;

test('trigger --wait ends with the first check that passes', async () => {
  const { url, bodies } = await clientOf([monitors, checked('UP')]);
  const env = { TOCSIN_URL: url, TOCSIN_API_KEY: 'key' };
  const target = 'http://localhost:3000/readyz';
  const ran = await runIn('/', ['trigger', 'a', '--wait', '600', '--url', target], env);
  expect([ran.code, ran.out]).toEqual([0, expect.stringContaining('UP')]);
  expect(bodies).toEqual(['', JSON.stringify({ url: target })]);
});

test('trigger --wait begins no check after its deadline', async () => {
  const { client, seen } = await clientOf([monitors, checked('DOWN'), checked('UP')]);
  // The next one would be due as the time is over.
  expect(await trigger(client, fakeTerminal('/'), ['a'], { wait: 600 }, 600_000)).toBe(2);
  expect(seen).toHaveLength(2);
});

test('a response is not awaited after the deadline', async () => {
  const [one, other, retried] = [
    await clientOf([hanging]),
    await clientOf([hanging]),
    await clientOf([tooMany, hanging]),
  ];
  const inTime = /did not respond in time/;
  await expect(one.client.listMonitors(performance.now() + 50)).rejects.toThrow(inTime);
  await expect(other.client.trigger('a', null, performance.now() + 50)).rejects.toThrow(inTime);
  // If no time is left for the second request, the error of the first one is thrown.
  await expect(retried.client.listMonitors(performance.now() + 300)).rejects.toThrow(ApiError);
});

/**
 * An API with two monitors on a fake clock. A check without a response takes a minute.
 * @param answers of the checks in turn; null: no response
 */
function unpunctualApi(answers: ('DOWN' | null)[]): Pick<ApiClient, 'listMonitors' | 'trigger'> & {
  readonly asked: [string, number | undefined][];
} {
  const asked: [string, number | undefined][] = [];
  jest.useFakeTimers({ now: 0, doNotFake: ['nextTick', 'queueMicrotask', 'setImmediate', 'setTimeout'] });
  return {
    asked,
    listMonitors: (until) => {
      asked.push(['', until]);
      return Promise.resolve([monitorOf('a', null), monitorOf('b', null)]);
    },
    trigger: (id, _, until) => {
      asked.push([id, until]);
      const status = answers.shift();
      if (status) return Promise.resolve(eventOf(id, asked.length, status));
      jest.advanceTimersByTime(60_000);
      return Promise.reject(new ApiError(`${id} did not answer in time.`, null));
    },
  };
}

test('trigger --wait has one deadline for all requests, and begins no check after it', async () => {
  const api = unpunctualApi([null]);
  const until = performance.now() + 60_000;
  const running = trigger(api, fakeTerminal('/'), ['a', 'b'], { wait: 60 }, 1);
  await expect(running).rejects.toThrow('a did not answer in time');
  expect(api.asked).toEqual([
    ['', until],
    ['a', until],
  ]);
});

test('trigger --wait: a check that ends at the deadline keeps the earlier result; an unchecked monitor is an error', async () => {
  expect(await trigger(unpunctualApi(['DOWN', null]), fakeTerminal('/'), ['a'], { wait: 60 }, 1)).toBe(2);
  const terminal = fakeTerminal('/');
  const late = trigger(unpunctualApi(['DOWN', null]), terminal, ['a', 'b', 'a'], { wait: 60 }, 1);
  await expect(late).rejects.toThrow('b did not answer in time');
  expect(terminal.printed).toEqual([expect.stringContaining('DOWN')]);
});

test('trigger --wait 0 checks once, however long it takes', async () => {
  const { client, seen } = await clientOf([monitors, checked('DOWN', 200), checked('UP')]);
  expect(await trigger(client, fakeTerminal('/'), ['a'], { wait: 0 }, 1)).toBe(2);
  expect(seen).toHaveLength(2);
});
