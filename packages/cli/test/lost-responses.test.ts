import { expect, test } from '@jest/globals';
import { apply } from '@tocsin-monitor/cli/commands/apply';
import { exportMonitors } from '@tocsin-monitor/cli/commands/export';
import {
  badGateway,
  clientOf,
  type Handler,
  json,
  lost,
  monitorOf,
  otherVersion,
  tooMany,
  unavailable,
} from './fake-api.ts';
import { fakeTerminal, folderWith } from './fake-terminal.ts';

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
  handlers: Handler[],
  flags: { json?: boolean } = {},
): Promise<{ code: number; error: unknown; output: string; out: string; bodies: string[] }> {
  const { client, bodies } = await clientOf([planned, ...handlers]);
  const file = 'source: lost\nmonitors: [{ externalId: a, name: a, url: "https://a.example" }]\n';
  const terminal = fakeTerminal(await folderWith({ 'tocsin.yaml': file }), {}, true);
  let [code, error]: [number, unknown] = [-1, null];
  try {
    code = await apply(client, terminal, flags);
  } catch (caught) {
    error = caught;
  }
  const [out, notes] = [terminal.printed, terminal.notes].map((lines) => lines.join('\n'));
  return { code, error, output: `${out}\n${notes}\n${String(error)}`, out: out ?? '', bodies };
}

test.each([
  ['a broken connection', [lost]],
  ['a 502', [badGateway]],
  ['a 503, as after a COMMIT whose response was lost', [unavailable]],
  ['one of several', [lost, tooMany]],
])('apply reports success when its response was lost (%s) but the set was applied', async (_, failures) => {
  const ran = await applyTo([...failures, otherVersion, json(setOf(false))]);
  expect([ran.error, ran.code]).toEqual([null, 0]);
  expect(ran.out).toMatch(/\nsource lost: applied; the first response was lost$/);
  expect(ran.output).not.toContain('Nothing');
  const requested = ran.bodies.map((body) => (JSON.parse(body) as { dryRun: boolean }).dryRun);
  expect(requested).toEqual([true, ...failures.map(() => false), false, true]);
});

test('apply --json prints the current result of the API when its response was lost', async () => {
  const ran = await applyTo([lost, otherVersion, json(setOf(false))], { json: true });
  expect(ran.code).toBe(0);
  expect(JSON.parse(ran.out)).toEqual({ sets: [{ ...setOf(false), dryRun: false }] });
  expect(ran.output).toContain('source lost: applied; the first response was lost');
});

test.each([
  ['the monitors still differ', json(setOf(true))],
  ['the API fails', (_, res) => res.writeHead(500).end('{}')],
] as [string, Handler][])(
  'apply reports an unknown result when its response was lost and then %s',
  async (_, now) => {
    const ran = await applyTo([lost, otherVersion, now]);
    expect(String(ran.error)).toMatch(/source lost.*not known.*Run diff or apply again/);
    expect(ran.output).not.toContain('Nothing');
  },
);

test('apply reports a refusal and sends no further request', async () => {
  for (const before of [[], [tooMany]]) {
    const ran = await applyTo([...before, otherVersion]);
    expect(String(ran.error)).toContain('has changed since it was shown');
    expect(ran.output).not.toContain('not known');
    expect(ran.bodies).toHaveLength(2 + before.length);
  }
});

test('export --adopt checks whether the monitor was adopted when a response was lost', async () => {
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
      json({ channels: [] }),
    ]);
    const terminal = fakeTerminal('/');
    expect(await exportMonitors(client, terminal, { adopt: true, source: 'lost' })).toBe(0);
    return terminal.printed.join('\n');
  };
  expect(await adopting(adopted)).toContain('name: Renamed since');
  await expect(adopting({ ...monitor, name: 'b' })).rejects.toThrow(/not known whether "a" was adopted/);
});
