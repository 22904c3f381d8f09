import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { eventText } from '@tocsin-monitor/cli/commands/events';
import { listMonitors } from '@tocsin-monitor/cli/commands/monitors';
import { showResponse } from '@tocsin-monitor/cli/commands/response';
import { newMonitor, recordCheck } from '@tocsin/api/testing/monitors';
import { AGENT_TOKEN_PATTERN } from '@tocsin/contracts/limits';
import type { EventResponse } from '@tocsin/contracts/monitors/events';
import type { Monitor } from '@tocsin/contracts/monitors/monitor';
import picocolors from 'picocolors';
import { at, eventOf, monitorOf } from './fake-api.ts';
import { entry, fakeTerminal, fileOf, folderWith, runIn } from './fake-terminal.ts';
import { openRealApi, type RealApi } from './real-api.ts';

describe('against an API', () => {
  let api: RealApi;
  let seen: Monitor;
  beforeAll(async () => {
    api = await openRealApi();
    seen = await newMonitor(api, { externalId: 'seen', source: 'seen', labels: { app: 'shop' } });
    await newMonitor(api, { externalId: 'other', source: 'seen' });
  });
  afterAll(() => api.close());

  test('monitors and events are listed as text and as JSON', async () => {
    await recordCheck(api, seen.id);
    await recordCheck(api, seen.id, true);
    const read = async (...args: string[]): Promise<string> => (await api.tocsin('/', args)).out;
    expect(await read('monitors', '--source', 'seen')).toMatch(
      /^STATUS +EXTERNAL ID {2}SOURCE {2}NAME +INTERVAL {2}URL +LABELS\nPENDING {2}other .*\nDOWN {5}seen .* app=shop$/,
    );
    expect(JSON.parse(await read('monitors', '-l', 'app in (shop)', '--json'))).toMatchObject({
      monitors: [{ id: seen.id, status: 'DOWN' }],
    });
    expect(await read('events', 'seen')).toMatch(/^\S+ +UP .*\n\S+ +DOWN .*$/);
    const since = ['--since', seen.createdAt, '-n', '1'];
    expect(JSON.parse(await read('events', seen.id, '--json', ...since))).toMatchObject({
      events: [{ status: 'UP' }],
    });
  });

  test('regions and agent tokens are created, listed and deleted', async () => {
    const run = async (...args: string[]): Promise<string> => {
      const { code, out, err } = await api.tocsin('/', args);
      expect([code, err]).toEqual([0, expect.any(String)]);
      return out;
    };
    expect(await run('regions', 'create', 'office', '--name', 'Zurich')).toMatch(/^Created region office\./);
    expect(await run('regions')).toMatch(
      /^REGION .*\ndefault +checkers .*\noffice +agents +disconnected since \S+ .* 0 +0 +Zurich$/,
    );
    const { regions } = JSON.parse(await run('regions', 'list', '--json')) as { regions: unknown[] };
    expect(regions).toContainEqual(expect.objectContaining({ region: 'office', kind: 'agents', agents: [] }));
    const token = await run(
      'agent-tokens',
      'create',
      'office',
      'Rack 1',
      '--expires-at',
      '2099-01-01T00:00:00Z',
    );
    expect(token).toMatch(AGENT_TOKEN_PATTERN);
    expect(await run('agent-tokens', 'list', 'office')).toMatch(/ Rack 1 .*2099-01-01T00:00:00.000Z +never$/);
    const { agentTokens } = JSON.parse(await run('agent-tokens', 'list', 'office', '--json')) as {
      agentTokens: { id: string }[];
    };
    await run('agent-tokens', 'delete', 'office', agentTokens[0]?.id ?? '');
    expect(await run('agent-tokens', 'list', 'office')).not.toContain('Rack 1');
    expect((await api.tocsin('/', ['regions', 'create', 'office'])).code).toBe(3);
    await run('regions', 'delete', 'office');
    expect(await run('regions')).not.toContain('office');
  });

  test('untrusted names cannot control the terminal or imitate lines of the command', async () => {
    const evil = 'a\n  0 to delete\r[0m\u001b[8m\u009b2J\u202Eb';
    const control = /[\p{Cc}\p{Bidi_Control}]/u;
    const { id } = await newMonitor(api, { externalId: 'evil', source: 'evil', name: evil });
    await newMonitor(api, { externalId: `evil-${evil}`, source: 'evil' });
    await newMonitor(api, { externalId: 'evil-other', source: `other ${evil}`, name: evil });
    await recordCheck(api, id);
    const folder = await folderWith({
      'tocsin.yaml': fileOf('evil', entry('evil')),
      'conflict.yaml': fileOf('evil', entry('evil-other')),
    });
    for (const args of [
      ['diff', '--prune'],
      ['diff'],
      ['diff', '--prune', '-f', 'conflict.yaml'],
      ['monitors', '--source', 'evil'],
      ['monitors', '--source', 'evil', '--json'],
      ['events', 'evil'],
      ['export'],
    ]) {
      const { out, err } = await api.tocsin(folder, args);
      expect(`${out}${err}`).toMatch(/evil|a\uFFFD {2}0 to delete/);
      for (const line of `${out}\n${err}`.split('\n')) expect(line).not.toMatch(control);
      expect(`${out}\n${err}`).not.toMatch(/^ {2}0 to delete/m);
    }
  });

  test.each<[args: string[], message: string | RegExp, code?: number]>([
    [['events', 'sen'], 'tocsin: There is no monitor "sen". Did you mean "seen"?'],
    [['rename', 'sen', 'new'], 'tocsin: No monitor has externalId or id "sen". Did you mean "seen"?'],
    [
      ['rename', 'seen', 'other'],
      /"other" is taken by monitor \S+ \("Shop"\) of source "seen", created on /,
      3,
    ],
    [['rename', 'seen', 'seen'], /The old and the new externalId are the same/],
    [['aply'], /unknown command 'aply'/],
    [['tail', '--every', '0'], /It must be a whole number, and at least 1\./],
    [['tail', '--every', '86401'], /It must be at most 86400\./],
    [['tail', '-n', 'x'], /It must be a whole number, and at least 0\./],
    [['tail', '-n', '501'], /Without --since, -n must be at most 500/],
    [['monitors', '--status', 'broken'], /must be one of PENDING, UP/],
    [['--server', 'http://me:hush@localhost:1', 'monitors'], /must not contain a user name or password/],
    [['trigger'], /Name the monitors to check, or select them with -l/],
    [['monitors', '-l', 'app in shop'], /The selector has an unexpected "shop"/],
    [['trigger', '-l', 'app=none'], /No monitor has these labels/],
    [['diff', '--prune-sources', 'a*b'], /a prefix followed by \*/],
    [['--server', 'localhost', 'monitors'], /must be a URL such as/],
  ])('%j is refused with a clear error', async (args, message, code = 6) => {
    const ran = await api.tocsin(await folderWith(), args);
    expect([ran.code, ran.out]).toEqual([code, '']);
    expect(ran.err).toMatch(message);
    expect(ran.err).not.toContain('hush');
  });

  test('an invalid and a missing API key are reported with a hint', async () => {
    const folder = await folderWith({ key: `${api.account.key}\n` });
    const url = `http://127.0.0.1:${api.port}`;
    const bad = await api.tocsin(folder, ['monitors'], { env: { TOCSIN_API_KEY: 'x' } });
    expect(bad.err).toContain('Set TOCSIN_API_KEY to an API key of this server');
    const none = await runIn(folder, ['monitors'], { env: { TOCSIN_URL: url } });
    expect([none.code, none.err]).toEqual([6, expect.stringContaining('No API key. Set TOCSIN_API_KEY')]);
    expect((await runIn(folder, ['monitors', '--server', url, '--api-key-file', 'key'])).code).toBe(0);
  });
});

test.each([
  [['diff', '--json', '--none'], {}],
  [['diff', '--json', '-f', 'none'], { TOCSIN_API_KEY: 'key' }],
])('with --json, the error of %j is one object on stderr', async (args, env) => {
  const { code, out, err } = await runIn(await folderWith(), args, { env });
  expect([code, out]).toEqual([6, '']);
  const message = expect.stringMatching(/none/);
  expect(JSON.parse(err)).toEqual({ code: 'invalid_input', message, retryable: false, details: [] });
});

test('--version prints the version of the package', async () => {
  expect((await runIn('/', ['--version'])).out).toMatch(/^\d+\.\d+\.\d+$/);
});

test('monitors says why monitors are DOWN', async () => {
  const list = async (...monitors: Monitor[]): Promise<string[]> => {
    const terminal = fakeTerminal();
    await listMonitors({ listMonitors: () => Promise.resolve(monitors) }, terminal, {});
    return terminal.printed;
  };
  const cause = 'name b.example does not exist\u001b[2J (ENOTFOUND)';
  const up = monitorOf('a');
  const lines = await list(up, { ...monitorOf('b'), status: 'DOWN', errorDetail: cause });
  expect(lines[0]).toMatch(/LABELS  CAUSE$/);
  expect(lines[2]).toMatch(/^DOWN .*  name b\.example does not exist\ufffd\[2J \(ENOTFOUND\)$/);
  expect((await list(up))[0]).toMatch(/LABELS$/);
});

test.each([
  ['TIMEOUT', false, /  a  TIMEOUT: connection timed out after 10 s$/],
  ['UNKNOWN_ERROR', false, /  a  connection timed out after 10 s$/],
  [
    'TIMEOUT',
    true,
    /  a  inconclusive: the checker or its network failed \(TIMEOUT: connection timed out after 10 s\)$/,
  ],
] as const)(
  'an event says why the check failed (%s, inconclusive: %s)',
  (errorReason, inconclusive, text) => {
    const errorDetail = 'connection timed out after 10 s';
    const failed = { ...eventOf('a', 1, 'DOWN'), errorReason, errorDetail, inconclusive };
    expect(eventText(failed, picocolors.createColors(false))).toMatch(text);
  },
);

const RESPONSE = { statusCode: 503, headers: { 'retry-after': '30' }, body: 'not\tnow\u202e\nlater' };

/** Shows a response of the monitor a. @param kept the seconds of the events that kept one */
async function show({ json = false, timestamp = '', kept = [1, 2], body = RESPONSE.body as string | null }) {
  const requested: string[] = [];
  const response: EventResponse = { ...RESPONSE, body };
  const api = {
    listMonitors: async () => [monitorOf('a')],
    listEvents: async () =>
      [1, 2, 3].map((second) => ({ ...eventOf('a', second), hasResponse: kept.includes(second) })),
    getEventResponse: async (id: string, of: string) => {
      requested.push(`${id} ${of}`);
      return response;
    },
  };
  const terminal = fakeTerminal();
  expect(await showResponse(api, terminal, 'a', timestamp || undefined, { json })).toBe(0);
  return { printed: terminal.printed, requested };
}

test('response prints the latest stored response, or the response for an event', async () => {
  const printed = ['HTTP 503', 'retry-after: 30', '', 'not  now\ufffd', 'later'];
  expect(await show({})).toEqual({ printed, requested: [`a ${at(2)}`] });
  expect((await show({ timestamp: at(1) })).requested).toEqual([`a ${at(1)}`]);
  expect(JSON.parse((await show({ json: true })).printed.join('\n'))).toEqual({ response: RESPONSE });
  expect((await show({ body: null })).printed).toEqual(printed.slice(0, 2));
  await expect(show({ kept: [] })).rejects.toThrow('None of the last 3 events of "a" has kept its response');
});
