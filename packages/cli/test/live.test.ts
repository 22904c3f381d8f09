import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { tail, type TailFlags } from '@tocsin/cli/events/tail';
import { createApiClient, type ApiClient } from '@tocsin/cli/http/api-client';
import { trigger } from '@tocsin/cli/trigger/trigger';
import { ApiError } from '@tocsin/cli/http/api-error';
import { createMonitorSchema, type Monitor } from '@tocsin/contracts/monitor';
import type { Event } from '@tocsin/contracts/event';
import { afterEach, expect, test } from '@jest/globals';
import { fakeTerminal } from './fake-terminal.ts';

const at = (second: number): string => new Date(Date.UTC(2026, 0, 1) + second * 1_000).toISOString();

function monitorOf(id: string, lastCheckedAt: string | null): Monitor {
  const input = createMonitorSchema.parse({ name: id, url: 'https://x.example', externalId: id });
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

/** An API in memory whose events are recorded between one look and the next. @param fails what a look finds instead */
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

test('tail: the latest events of all, the oldest first, and no more without -f', async () => {
  const api = new FakeApi();
  api.add('a', 1, 4, 6);
  api.add('b', 2, 3, 5);
  expect(await idsOf(api, { limit: 4 })).toEqual(['b-3', 'a-4', 'b-5', 'a-6']);
  expect(await idsOf(api, { since: at(4) })).toEqual(['b-5', 'a-6']);
  expect(await idsOf(api, { limit: 0 })).toEqual([]);
});

test('tail -f: each event once, through outages, more than a page, and monitors that come and go', async () => {
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

test('tail of many monitors asks those that have something to show', async () => {
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

test('tail -f of a monitor that is deleted says so, and ends with the last of them', async () => {
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

test('tail -f ends where going on is in vain: a key that was deleted', async () => {
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

test('trigger: where a later one fails, the results before are told all the same', async () => {
  const api = {
    listMonitors: () => Promise.resolve([monitorOf('a', null), monitorOf('b', null)]),
    trigger: (id: string) =>
      id === 'a' ? Promise.resolve(eventOf(id, 1)) : Promise.reject(new ApiError('No checker.', 504)),
  };
  const terminal = fakeTerminal('/');
  await expect(trigger(api, terminal, ['a', 'b'], {})).rejects.toThrow('No checker.');
  expect(terminal.printed).toEqual([expect.stringContaining('  a')]);
});

let server: Server | undefined;
afterEach(() => void server?.close());

/** A server that answers one request after the other. */
async function clientOf(
  answers: ((req: IncomingMessage, res: ServerResponse) => void)[],
): Promise<{ client: ApiClient; retries: string[]; seen: IncomingMessage[] }> {
  const seen: IncomingMessage[] = [];
  server = createServer((req, res) => {
    seen.push(req);
    req.resume();
    req.once('end', () => answers.shift()?.(req, res));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const retries: string[] = [];
  const { port } = server.address() as AddressInfo;
  const client = createApiClient({
    url: `http://127.0.0.1:${port}`,
    apiKey: 'key',
    onRetry: (reason, seconds) => void retries.push(`${reason.replace(/:\d+/, '')} ${seconds}`),
    signal: new AbortController().signal,
    backoffMs: 1,
  });
  return { client, retries, seen };
}

test('what the API cannot do now is asked again', async () => {
  const { client, retries, seen } = await clientOf([
    (_, res) => res.writeHead(429, { 'Retry-After': '1' }).end('{}'),
    (_, res) => res.writeHead(503).end('{}'),
    (_, res) => res.end(JSON.stringify({ event: eventOf('a', 1) })),
    (req) => req.socket.destroy(),
    (_, res) => res.writeHead(502).end('{}'),
    (_, res) => res.end(JSON.stringify({ monitors: [] })),
  ]);
  expect(await client.trigger('a', null)).toMatchObject({ id: 'a-1' });
  expect(await client.listMonitors()).toEqual([]);
  expect(retries.map((line) => line.replace(/ \(.*\)/, ''))).toEqual([
    'http://127.0.0.1 answered 429 1',
    'http://127.0.0.1 answered 503 0',
    'http://127.0.0.1 cannot be reached 0',
    'http://127.0.0.1 answered 502 0',
  ]);
  expect(seen).toHaveLength(6);
});

test('a trigger with a time is tried no longer than that, whatever the server asks for', async () => {
  const { client, retries } = await clientOf([
    (_, res) => res.writeHead(503, { 'Retry-After': '60' }).end('{}'),
  ]);
  await expect(client.trigger('a', null, performance.now() + 10_000)).rejects.toMatchObject({ status: 503 });
  expect(retries).toEqual([]);
});

test('a trigger that may have been heeded is told, and not sent again', async () => {
  const { client, retries, seen } = await clientOf([
    (req) => req.socket.destroy(),
    (_, res) => res.writeHead(502).end('<html>'),
  ]);
  const text = 'cannot be reached.*The check may have been made all the same';
  await expect(client.trigger('a', null)).rejects.toThrow(new RegExp(text));
  await expect(client.trigger('a', null)).rejects.toMatchObject({ status: 502 });
  expect([seen.length, retries]).toEqual([2, []]);
});

test('what is no Tocsin is told so, and gets the key once', async () => {
  const { client, seen } = await clientOf([
    (_, res) => res.writeHead(301, { Location: 'https://elsewhere.example' }).end(),
    (_, res) => res.writeHead(404).end('<html>'),
    (_, res) => res.end('<html>'),
    (_, res) => res.end('{"status":"ok"}'),
    (_, res) => res.writeHead(413).end('<html>'),
    (_, res) => res.writeHead(504).end('<html>'),
  ]);
  for (let request = 0; request < 4; request += 1)
    await expect(client.listMonitors()).rejects.toThrow(/is TOCSIN_URL right\?/);
  await expect(client.listMonitors()).rejects.toThrow(/as a proxy does that takes no body of this size/);
  await expect(client.listMonitors()).rejects.toThrow(/as a proxy does that Tocsin does not answer in time/);
  expect(seen).toHaveLength(6);
});
