import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { renameSource } from '@tocsin-monitor/cli/commands/rename-source';
import { newMonitor } from '@tocsin/api/testing/monitors';
import { openTestApi, type TestApi } from '@tocsin/api/testing/test-api';
import { badGateway, clientOf, json, monitorOf, otherVersion } from './fake-api.ts';
import { fakeTerminal, folderWith, type Ran, runIn } from './fake-terminal.ts';

let api: TestApi;
beforeAll(async () => {
  const workers: Readonly<Record<string, number>> = { default: 1, eu: 0, late: 0 };
  const regionLoads = {
    read: (codes: readonly string[]) =>
      Promise.resolve(
        new Map(codes.map((code) => [code, { workers: workers[code] ?? 1, waiting: 0, lagMs: 0 }])),
      ),
  };
  api = await openTestApi({ regionLoads });
});
afterAll(() => api.close());

function tocsin(folder: string, args: string[], answer: Parameters<typeof runIn>[3] = null): Promise<Ran> {
  const env = { TOCSIN_URL: `http://127.0.0.1:${api.port}/`, TOCSIN_API_KEY: api.account.key };
  return runIn(folder, args, env, answer);
}

const fileOf = (source: string, ...keys: string[]): string =>
  `source: ${source}\nmonitors:${keys.length === 0 ? ' []' : ''}\n${keys
    .map((key) => `  - { externalId: ${key}, name: ${key}, url: "https://${key}.example" }\n`)
    .join('')}`;

async function keysOf(source: string): Promise<(string | null)[]> {
  const { rows } = await api.database.pool.query<{ external_id: string | null }>(
    'select external_id from monitors where source = $1 order by 1',
    [source],
  );
  return rows.map((row) => row.external_id);
}

async function create(source: string, ...keys: string[]): Promise<void> {
  for (const externalId of keys) await newMonitor(api, { source, externalId });
}

async function createChannel(source: string, externalId: string): Promise<void> {
  const fields = { name: externalId, url: 'https://hooks.invalid/x', source, externalId };
  const { status } = await api.as().post('/api/cli/channels').send(fields);
  expect(status).toBe(201);
}

async function channelsOf(source: string): Promise<(string | null)[]> {
  const { body } = await api.as().get('/api/cli/channels');
  const { channels } = body as { channels: { source: string | null; externalId: string | null }[] };
  return channels.filter((channel) => channel.source === source).map(({ externalId }) => externalId);
}

test('sources that no file of a folder names are listed; --prune-sources deletes those that match', async () => {
  await create('prune/old', 'prune-a', 'prune-b');
  await create('other/team', 'prune-other');
  await createChannel('prune/old', 'prune-channel');
  const folder = await folderWith({ 'm/a.yaml': fileOf('prune/new', 'prune-c') });
  const listed = await tocsin(folder, ['diff', '-f', 'm']);
  expect([listed.code, listed.err]).toEqual([
    2,
    'Sources that are in no file (monitors and channels): other/team (1), prune/old (3). They are kept; --prune-sources <pattern> deletes them.',
  ]);
  expect((await tocsin(folder, ['diff', '-f', 'm/a.yaml'])).err).toBe('');
  const json = await tocsin(folder, ['diff', '-f', 'm', '--json']);
  expect(JSON.parse(json.out)).toMatchObject({
    sets: [{ source: 'prune/new', dryRun: true }],
    unlistedSources: [
      { source: 'other/team', monitors: 1, channels: 0 },
      { source: 'prune/old', monitors: 2, channels: 1 },
    ],
  });
  const args = ['-f', 'm/a.yaml', '--prune-sources', 'prune/*'];
  const diff = await tocsin(folder, ['diff', ...args]);
  expect([diff.code, diff.out.split('\n').slice(3)]).toEqual([
    2,
    [
      'source prune/old, which is in no file',
      '  - prune-a',
      '  - prune-b',
      '  0 to create, 0 to change, 2 to delete, 0 unchanged',
      '  - channel prune-channel',
      '  channels: 0 to create, 0 to change, 1 to delete, 0 unchanged',
    ],
  ]);
  expect(await keysOf('prune/old')).toHaveLength(2);
  expect((await tocsin(folder, ['apply', ...args], false)).questions).toHaveLength(1);
  expect(await keysOf('prune/old')).toHaveLength(2);
  expect((await tocsin(folder, ['apply', ...args])).code).toBe(0);
  expect([await keysOf('prune/old'), await keysOf('prune/new')]).toEqual([[], ['prune-c']]);
  expect(await channelsOf('prune/old')).toEqual([]);
  expect(await keysOf('other/team')).toEqual(['prune-other']);
});

test('a monitor that joins a pruned source after the plan is not deleted', async () => {
  await create('late', 'late-a');
  const folder = await folderWith({ 'tocsin.yaml': fileOf('late-other') });
  const meanwhile = (): Promise<void> => create('late', 'late-b');
  const ran = await tocsin(folder, ['apply', '--prune-sources', 'late'], meanwhile);
  expect([ran.code, ran.err]).toEqual([
    1,
    expect.stringContaining('The plan for source late has changed since it was shown.'),
  ]);
  expect(await keysOf('late')).toEqual(['late-a', 'late-b']);
});

test('--max-delete refuses a plan that deletes more, before anything is changed', async () => {
  await create('limit', 'limit-a', 'limit-b', 'limit-c');
  const folder = await folderWith({
    'a.yaml': fileOf('limit-first', 'limit-x'),
    'b.yaml': fileOf('limit', 'limit-a'),
  });
  const args = ['-f', '.', '--prune'];
  for (const command of [['apply'], ['diff'], ['apply', '--json']]) {
    const refused = await tocsin(folder, [...command, ...args, '--max-delete', '1']);
    expect([refused.code, refused.err.split('\n').at(-1)]).toEqual([
      1,
      'tocsin: The plan deletes 2 monitors and channels, more than --max-delete 1. Nothing was changed.',
    ]);
    if (command.includes('--json'))
      expect(JSON.parse(refused.out)).toMatchObject({ sets: [{ dryRun: true }, { dryRun: true }] });
  }
  expect([await keysOf('limit-first'), await keysOf('limit')]).toEqual([
    [],
    ['limit-a', 'limit-b', 'limit-c'],
  ]);
  expect((await tocsin(folder, ['apply', ...args, '--max-delete', '2'])).code).toBe(0);
  expect(await keysOf('limit')).toEqual(['limit-a']);
});

test('apply --json reports an unchanged source as applied', async () => {
  await tocsin(await folderWith({ 'tocsin.yaml': fileOf('truth-a', 'truth-a') }), ['apply']);
  const folder = await folderWith({
    'a.yaml': fileOf('truth-a', 'truth-a'),
    'b.yaml': fileOf('truth-b', 'truth-b'),
  });
  const args = ['-f', 'a.yaml', '-f', 'b.yaml', '--json'];
  for (const changed of [true, false]) {
    const { code, out } = await tocsin(folder, ['apply', ...args]);
    expect([code, JSON.parse(out)]).toMatchObject([
      0,
      {
        sets: [
          { source: 'truth-a', dryRun: false, changed: false, unchanged: [{ externalId: 'truth-a' }] },
          { source: 'truth-b', dryRun: false, changed },
        ],
      },
    ]);
  }
  expect(JSON.parse((await tocsin(folder, ['diff', ...args])).out)).toMatchObject({
    sets: [{ dryRun: true }, { dryRun: true }],
  });
});

test('a region that no checker serves is reported', async () => {
  const folder = await folderWith();
  const write = (regions: string): Promise<void> =>
    writeFile(
      join(folder, 'tocsin.yaml'),
      `source: place\nmonitors: [{ externalId: place, name: P, url: "https://p.example", regions: [${regions}] }]\n`,
    );
  await newMonitor(api, { regions: ['eu', 'us'] });
  await write('eu, us, late');
  const eu = 'Warning: no checker serves region eu. Its monitors are not checked there.';
  const late = 'Warning: no checker serves region late. Its monitors are not checked there.';
  expect((await tocsin(folder, ['diff'])).err.split('\n')).toEqual([
    eu,
    'Warning: no monitor uses region late yet. Make sure that a checker serves it.',
  ]);
  expect((await tocsin(folder, ['apply'])).err.split('\n')).toEqual([eu, late]);
  expect((await tocsin(folder, ['apply'])).err.split('\n')).toEqual([eu, late]);
  await write('us');
  expect((await tocsin(folder, ['apply'])).err).toBe('');
});

test('rename-source moves every monitor, so that the changed file changes nothing', async () => {
  await create('name-old', 'name-a', 'name-b');
  await createChannel('name-old', 'name-channel');
  const folder = await folderWith({ 'tocsin.yaml': fileOf('name-new', 'name-a', 'name-b') });
  const args = ['rename-source', 'name-old', 'name-new'];
  const refused = await tocsin(folder, args, false);
  expect([refused.code, refused.questions]).toEqual([
    1,
    ['Move monitors (2) and channels (1) from source "name-old" to "name-new"?'],
  ]);
  const ran = await tocsin(folder, args);
  expect([ran.code, ran.out]).toEqual([
    0,
    'Moved to source "name-new": 3. Change `source` in the files, too.',
  ]);
  expect([await keysOf('name-old'), await keysOf('name-new')]).toEqual([[], ['name-a', 'name-b']]);
  expect(await channelsOf('name-new')).toEqual(['name-channel']);
  const again = await tocsin(folder, args);
  expect([again.code, again.err]).toEqual([
    1,
    'tocsin: There are no monitors or channels of source "name-old".',
  ]);
});

test('rename-source tries again after a concurrent change, and accepts its own lost change', async () => {
  const of = (id: string, source: string): object => ({ ...monitorOf(id, null), source });
  const read = (id: string, source: string): ReturnType<typeof json> =>
    json({ monitor: of(id, source), events: [] }, { etag: '"1"' });
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
    (_, res) => res.writeHead(404).end(JSON.stringify({ status: 404, detail: 'None.', instance: 'r' })),
  ]);
  const terminal = fakeTerminal('/');
  expect(await renameSource(client, terminal, 'old', 'new')).toBe(0);
  expect(terminal.printed).toEqual(['Moved to source "new": 2. Change `source` in the files, too.']);
  expect(seen.filter(({ method }) => method === 'PUT').map(({ headers }) => headers['if-match'])).toEqual([
    '"1"',
    '"1"',
    '"1"',
    '"1"',
  ]);
});

test('an interrupted rename-source says how far it got, and moves the rest when it is repeated', async () => {
  const of = (id: string): object => ({ ...monitorOf(id, null), source: 'old' });
  const { client } = await clientOf([
    json({ monitors: [of('a'), of('b')] }),
    json({ channels: [] }),
    json({ monitor: of('a'), events: [] }, { etag: '"1"' }),
    json({ monitor: of('a') }),
    (_, res) => res.writeHead(403).end(JSON.stringify({ status: 403, detail: 'No.', instance: 'r' })),
  ]);
  const terminal = fakeTerminal('/');
  await expect(renameSource(client, terminal, 'old', 'new')).rejects.toThrow('No.');
  expect(terminal.notes).toEqual(['Moved: 1 of 2. Run the command again to move the rest.']);
});
