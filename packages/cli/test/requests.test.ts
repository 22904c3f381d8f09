import { brotliCompressSync } from 'node:zlib';
import { describe, expect, test } from '@jest/globals';
import { apply, type ApplyFlags } from '@tocsin-monitor/cli/commands/apply';
import { exportMonitors } from '@tocsin-monitor/cli/commands/export';
import { renameSource } from '@tocsin-monitor/cli/commands/rename-source';
import { ApiError } from '@tocsin-monitor/cli/http/api-error';
import type { CliError } from '@tocsin-monitor/cli/terminal/cli-error';
import { clientOf, eventOf, type Handler, json, lost, monitorOf, respond } from './fake-api.ts';
import { entry, fakeTerminal, fileOf, folderWith } from './fake-terminal.ts';

const badGateway = respond(502, '<html>');
const tooMany = respond(429);
const otherVersion = respond(412, JSON.stringify({ status: 412, detail: 'It has changed.', instance: 'r' }));

test('requests are repeated after temporary errors', async () => {
  const { client, retries, seen } = await clientOf([
    respond(429, '{}', { 'Retry-After': '0.05' }),
    respond(503),
    json({ event: eventOf('a', 1) }),
    lost,
    badGateway,
    json({ monitors: [] }),
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

test('a conflict, and a request that would be repeated after its deadline, are not repeated', async () => {
  const { client, seen } = await clientOf([respond(409), respond(503, '{}', { 'Retry-After': '60' })]);
  await expect(client.putSet({ source: 's', monitors: [] }, null)).rejects.toMatchObject({ status: 409 });
  await expect(client.trigger('a', null, performance.now() + 50_000)).rejects.toMatchObject({ status: 503 });
  expect(seen).toHaveLength(2);
});

test('a trigger or a creation that may have succeeded is reported and not repeated', async () => {
  const { client, retries, seen } = await clientOf([lost, badGateway, lost]);
  await expect(client.trigger('a', null)).rejects.toThrow(
    /cannot be reached.*The request may still have succeeded/,
  );
  await expect(client.trigger('a', null)).rejects.toMatchObject({ status: 502 });
  await expect(client.createAgentToken('eu', { name: 'a' })).rejects.toThrow(/may still have succeeded/);
  expect([seen.length, retries]).toEqual([3, []]);
});

test('no content coding is requested, and none is decoded', async () => {
  const body = brotliCompressSync(JSON.stringify({ monitors: [] }));
  const { client, seen } = await clientOf([respond(200, body, { 'Content-Encoding': 'br' })]);
  await expect(client.listMonitors()).rejects.toThrow(/Check TOCSIN_URL\./);
  expect(seen[0]?.headers['accept-encoding']).toBeUndefined();
});

test.each<[string, Handler, RegExp]>([
  ['a redirect', respond(301, '', { Location: 'https://elsewhere.example' }), /Check TOCSIN_URL\./],
  ['HTML', respond(200, '<html>'), /Check TOCSIN_URL\./],
  ['other JSON', json({ status: 'ok' }), /Check TOCSIN_URL\./],
  ['413', respond(413, '<html>'), /A proxy probably limits the size of requests/],
  ['504', respond(504, '<html>'), /A proxy probably got no response from Tocsin in time/],
])('a server other than Tocsin that responds with %s gets the key only once', async (_, handler, message) => {
  const { client, seen } = await clientOf([handler]);
  await expect(client.listMonitors()).rejects.toThrow(message);
  expect(seen).toHaveLength(1);
});

test('a response is not awaited after the deadline', async () => {
  const hanging: Handler = () => undefined;
  const listed = await clientOf([hanging]);
  const retried = await clientOf([tooMany, hanging]);
  await expect(listed.client.listMonitors(performance.now() + 50)).rejects.toThrow('did not respond in time');
  // If no time is left for the second request, the error of the first one is thrown.
  await expect(retried.client.listMonitors(performance.now() + 300)).rejects.toThrow(ApiError);
});

const NO_CHANGES = { created: [], updated: [], deleted: [], unchanged: [], unlisted: [] };

test('a source that no file names is deleted only as planned, because another pipeline may add a monitor to it', async () => {
  const result = (source: string, changed: boolean) => ({ source, dryRun: true, changed, ...NO_CHANGES });
  const { client, seen } = await clientOf([
    json({ monitors: [{ ...monitorOf('a'), source: 'pruned' }] }),
    json({ channels: [] }),
    json(result('kept', false), { ETag: '"1"' }),
    json(result('pruned', true), { ETag: '"2"' }),
    json(result('pruned', true)),
  ]);
  const terminal = fakeTerminal(await folderWith({ 'tocsin.yaml': fileOf('kept') }));
  expect(await apply(client, terminal, { pruneSources: ['pruned'], yes: true })).toBe(0);
  expect(seen.slice(2).map(({ headers }) => headers['if-match'])).toEqual([undefined, undefined, '"2"']);
});

describe('an apply whose plan has changed', () => {
  const setOf = (deleted: readonly string[], changed = true): object => ({
    source: 'race',
    dryRun: true,
    changed,
    ...NO_CHANGES,
    created: changed ? [{ id: null, externalId: 'a' }] : [],
    deleted: deleted.map((id) => ({ id, externalId: id })),
  });
  const run = async (flags: ApplyFlags, ...handlers: Handler[]) => {
    const { client, seen } = await clientOf([
      json(setOf(['x', 'y']), { ETag: '"1"' }),
      otherVersion,
      ...handlers,
    ]);
    const folder = await folderWith({ 'tocsin.yaml': fileOf('race', entry('a')) });
    const terminal = fakeTerminal(folder, { answer: true });
    const code = await apply(client, terminal, flags).catch((error: unknown) => (error as CliError).code);
    return { code, out: terminal.printed.at(-1), sent: seen.map(({ headers }) => headers['if-match']) };
  };
  const now = (...deleted: string[]): Handler => json(setOf(deleted), { ETag: '"2"' });

  test('is planned again once with --yes, and applied if it deletes nothing else', async () => {
    expect(await run({ yes: true }, now('y'), json(setOf(['y'])))).toEqual({
      code: 0,
      out: 'source race: 1 created, 0 changed, 1 deleted, 0 unchanged',
      sent: [undefined, '"1"', undefined, '"2"'],
    });
    const applied = await run({ yes: true }, json(setOf([], false)));
    expect([applied.code, applied.sent]).toEqual([0, [undefined, '"1"', undefined]]);
  });

  test('is a conflict if the new plan deletes more, changes again, or was confirmed by a user', async () => {
    expect((await run({ yes: true }, now('y', 'z'))).code).toBe('conflict');
    expect((await run({ yes: true }, now('y'), otherVersion)).code).toBe('conflict');
    expect(await run({})).toMatchObject({ code: 'conflict', sent: [undefined, '"1"'] });
  });
});

test.each([
  [409, 'conflict', false],
  [412, 'conflict', true],
  [400, 'invalid_input', false],
  [401, 'failed', false],
  [429, 'unavailable', true],
  [500, 'failed', true],
  [503, 'unavailable', true],
  [504, 'failed', true],
  [null, 'unavailable', true],
])('a response with %s is the failure %s, retryable: %s', (status, code, retryable) => {
  expect(new ApiError('It failed.', status)).toMatchObject({ code, retryable });
});

describe('an apply whose response was lost', () => {
  function setOf(changed: boolean): object {
    const one = [{ id: null, externalId: 'a' }];
    const part = changed ? { created: one } : { unchanged: one };
    return { source: 'lost', dryRun: true, changed, ...NO_CHANGES, ...part };
  }

  /** A confirmed apply against a server with these responses after the plan. */
  async function applyTo(
    handlers: readonly Handler[],
    flags: { json?: boolean } = {},
  ): Promise<{ code: number; error: string; notes: string; out: string; bodies: string[] }> {
    const { client, bodies } = await clientOf([json(setOf(true), { ETag: '"1"' }), ...handlers]);
    const folder = await folderWith({ 'tocsin.yaml': fileOf('lost', entry('a')) });
    const terminal = fakeTerminal(folder, { answer: true });
    let error = '';
    const code = await apply(client, terminal, flags).catch((caught: unknown) => {
      error = String(caught);
      return -1;
    });
    const { printed, notes } = terminal;
    return { code, error, notes: notes.join('\n'), out: printed.join('\n'), bodies };
  }

  test.each([
    ['a 502', [badGateway]],
    ['a 503, as after a COMMIT whose response was lost', [respond(503)]],
    ['one of several', [lost, tooMany]],
  ])('reports success if the set was applied (%s)', async (_, failures) => {
    const ran = await applyTo([...failures, otherVersion, json(setOf(false))]);
    expect([ran.error, ran.code]).toEqual(['', 0]);
    expect(ran.out).toMatch(/\nsource lost: applied; the first response was lost$/);
    const requested = ran.bodies.map((body) => (JSON.parse(body) as { dryRun: boolean }).dryRun);
    expect(requested).toEqual([true, ...failures.map(() => false), false, true]);
  });

  test('prints the current result of the API with --json', async () => {
    const ran = await applyTo([lost, otherVersion, json(setOf(false))], { json: true });
    expect([ran.code, JSON.parse(ran.out)]).toEqual([0, { sets: [{ ...setOf(false), dryRun: false }] }]);
    expect(ran.notes).toContain('source lost: applied; the first response was lost');
  });

  test.each([
    ['the monitors still differ', json(setOf(true))],
    ['the API fails', respond(500)],
  ])('reports an unknown result if then %s', async (_, now) => {
    const ran = await applyTo([lost, otherVersion, now]);
    expect(ran.error).toMatch(/source lost.*not known.*Run diff or apply again/);
  });

  test('is not assumed if the API answered each request', async () => {
    const ran = await applyTo([tooMany, otherVersion]);
    expect(ran.error).toContain('has changed since it was shown');
    expect(ran.bodies).toHaveLength(3);
  });

  test('reports the secrets of channels that were lost with it', async () => {
    const created = [{ id: null, externalId: 'lost', secret: null }];
    const set = { ...setOf(true), channels: { ...NO_CHANGES, created } };
    const repeated = { ...setOf(false), dryRun: false, channels: NO_CHANGES };
    const { client } = await clientOf([json(set), lost, json(repeated)]);
    const channels = 'channels: [{ externalId: lost, name: a, url: "https://a.invalid" }]\n';
    const terminal = fakeTerminal(await folderWith({ 'tocsin.yaml': fileOf('lost') + channels }));
    expect(await apply(client, terminal, { yes: true })).toBe(0);
    expect(terminal.notes).toContain(
      'Channels whose generated secrets were lost with a response: lost. An owner can reveal them in the dashboard.',
    );
  });
});

test('export --adopt checks whether the monitor was adopted when a response was lost', async () => {
  const monitor = monitorOf('a');
  const adopting = async (now: object): Promise<string> => {
    const { client } = await clientOf([
      json({ monitors: [monitor] }),
      json({ monitor }, { ETag: '"1"' }),
      lost,
      otherVersion,
      json({ monitor: now }),
      json({ channels: [] }),
    ]);
    const terminal = fakeTerminal();
    expect(await exportMonitors(client, terminal, { adopt: true, source: 'lost' })).toBe(0);
    return terminal.printed.join('\n');
  };
  const adopted = { ...monitor, source: 'lost', name: 'Renamed since' };
  expect(await adopting(adopted)).toContain('name: Renamed since');
  await expect(adopting({ ...monitor, name: 'b' })).rejects.toThrow(/not known whether "a" was adopted/);
});

const of = (id: string, source: string): object => ({ ...monitorOf(id), source });
const read = (id: string, source: string): Handler =>
  json({ monitor: of(id, source), events: [] }, { etag: '"1"' });

test('rename-source tries again after a concurrent change, and accepts its own lost change', async () => {
  const { client, seen } = await clientOf([
    json({ monitors: [of('a', 'old'), of('b', 'old'), of('c', 'old')] }),
    json({ channels: [] }),
    read('a', 'old'),
    otherVersion,
    read('a', 'old'),
    json({ monitor: of('a', 'new') }),
    read('b', 'old'),
    badGateway,
    otherVersion,
    read('b', 'new'),
    respond(404, JSON.stringify({ status: 404, detail: 'None.', instance: 'r' })),
  ]);
  const terminal = fakeTerminal();
  expect(await renameSource(client, terminal, 'old', 'new', { yes: true })).toBe(0);
  expect(terminal.printed).toEqual(['Moved to source "new": 2. Change `source` in the files, too.']);
  const puts = seen.filter(({ method }) => method === 'PUT');
  expect(puts.map(({ headers }) => headers['if-match'])).toEqual(['"1"', '"1"', '"1"', '"1"']);
});
