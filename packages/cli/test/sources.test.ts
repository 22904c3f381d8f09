import { readFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { newMonitor, recordCheck } from '@tocsin/api/testing/monitors';
import { parse } from 'yaml';
import { entry, fileOf, folderWith } from './fake-terminal.ts';
import { openRealApi, type RealApi } from './real-api.ts';

let api: RealApi;
beforeAll(async () => {
  const loadOf = (region: string) => ({ workers: /eu|late/.test(region) ? 0 : 1, waiting: 0, lagMs: 0 });
  const read = async (regions: readonly string[]) =>
    new Map(regions.map((region) => [region, loadOf(region)]));
  api = await openRealApi({ regionLoads: { read } });
});
afterAll(() => api.close());

async function create(source: string, ...keys: string[]): Promise<void> {
  for (const externalId of keys) await newMonitor(api, { source, externalId });
}

async function createChannel(source: string, externalId: string): Promise<void> {
  const fields = { name: externalId, url: 'https://hooks.invalid/x', source, externalId };
  expect((await api.as().post('/api/cli/channels').send(fields)).status).toBe(201);
}

test('sources that no file in a folder names are listed, and --prune-sources deletes those that match', async () => {
  await create('prune/old', 'prune-a', 'prune-b');
  await create('other/team', 'prune-other');
  await createChannel('prune/old', 'prune-channel');
  const folder = await folderWith({ 'm/a.yaml': fileOf('prune/new', entry('prune-c')) });
  expect(await api.tocsin(folder, ['diff', '-f', 'm'])).toMatchObject({
    code: 2,
    err: 'Sources that are in no file (monitors and channels): other/team (1), prune/old (3). They are kept. To delete them, use --prune-sources <pattern>.',
  });
  expect((await api.tocsin(folder, ['diff', '-f', 'm/a.yaml'])).err).toBe('');
  const json = await api.tocsin(folder, ['diff', '-f', 'm', '--json']);
  expect(JSON.parse(json.out)).toMatchObject({
    sets: [{ source: 'prune/new', dryRun: true }],
    unlistedSources: [
      { source: 'other/team', monitors: 1, channels: 0 },
      { source: 'prune/old', monitors: 2, channels: 1 },
    ],
  });
  const args = ['-f', 'm/a.yaml', '--prune-sources', 'prune/*'];
  const diff = await api.tocsin(folder, ['diff', ...args]);
  expect(diff.code).toBe(2);
  expect(diff.out.split('\n').slice(3)).toEqual([
    'source prune/old, which is in no file',
    '  - prune-a',
    '  - prune-b',
    '  0 to create, 0 to change, 2 to delete, 0 unchanged',
    '  - channel prune-channel',
    '  channels: 0 to create, 0 to change, 1 to delete, 0 unchanged',
  ]);
  expect((await api.tocsin(folder, ['apply', '--yes', ...args])).code).toBe(0);
  expect([await api.keysOf('prune/old'), await api.keysOf('prune/new')]).toEqual([[], ['prune-c']]);
  expect(await api.channelsOf('prune/old')).toEqual([]);
  expect(await api.keysOf('other/team')).toEqual(['prune-other']);
});

test('--max-delete refuses a plan that deletes more, before anything is changed', async () => {
  await create('limit', 'limit-a', 'limit-b', 'limit-c');
  const folder = await folderWith({
    'a.yaml': fileOf('limit-first', entry('limit-x')),
    'b.yaml': fileOf('limit', entry('limit-a')),
  });
  const args = ['-f', '.', '--prune', '--json'];
  for (const command of [['diff'], ['apply', '--yes']]) {
    const { code, out, err } = await api.tocsin(folder, [...command, ...args, '--max-delete', '1']);
    expect([code, JSON.parse(out)]).toMatchObject([4, { sets: [{ dryRun: true }, { dryRun: true }] }]);
    expect(err).toContain('The plan deletes 2 monitors and channels, more than --max-delete 1.');
  }
  expect(await api.keysOf('limit-first')).toEqual([]);
  expect(await api.keysOf('limit')).toHaveLength(3);
  expect((await api.tocsin(folder, ['apply', '--yes', ...args, '--max-delete', '2'])).code).toBe(0);
});

test('a region that no checker serves is reported', async () => {
  const folder = await folderWith();
  const write = (regions: string): Promise<void> =>
    writeFile(join(folder, 'tocsin.yaml'), fileOf('place', entry('place', `, regions: [${regions}]`)));
  const notesOf = async (...command: string[]): Promise<string[]> =>
    (await api.tocsin(folder, command)).err.split('\n');
  await newMonitor(api, { regions: ['eu', 'us'] });
  await write('eu, us, late');
  const [eu, late] = ['eu', 'late'].map(
    (region) => `Warning: no checker serves region ${region}. Its monitors are not checked there.`,
  );
  expect(await notesOf('diff')).toEqual([
    eu,
    'Warning: no monitor uses region late yet. Make sure that a checker serves it.',
  ]);
  expect(await notesOf('apply', '--yes')).toEqual([eu, late]);
  await write('us');
  expect(await notesOf('apply', '--yes')).toEqual(['']);
});

test('rename-source moves monitors and channels, so that the changed file changes nothing', async () => {
  await create('name-old', 'name-a', 'name-b');
  await createChannel('name-old', 'name-channel');
  const channel =
    'channels: [{ externalId: name-channel, name: name-channel, url: "https://hooks.invalid/x" }]';
  const folder = await folderWith({ 'tocsin.yaml': `${fileOf('name-new')}${channel}\n` });
  const args = ['rename-source', 'name-old', 'name-new'];
  expect(await api.tocsin(folder, args, { answer: false })).toMatchObject({
    code: 1,
    questions: ['Move monitors (2) and channels (1) from source "name-old" to "name-new"?'],
  });
  expect((await api.tocsin(folder, args)).err).toContain('add --yes');
  expect(await api.tocsin(folder, [...args, '--yes'])).toMatchObject({
    code: 0,
    out: 'Moved to source "name-new": 3. Change `source` in the files, too.',
  });
  expect([await api.keysOf('name-old'), await api.keysOf('name-new')]).toEqual([[], ['name-a', 'name-b']]);
  expect((await api.tocsin(folder, ['diff'])).code).toBe(0);
  expect(await api.tocsin(folder, [...args, '--yes'])).toMatchObject({
    code: 6,
    err: 'tocsin: There are no monitors or channels of source "name-old".',
  });
});

test('a plan says what a new externalId loses, and the command that keeps it', async () => {
  const fields = { source: 're', externalId: 're-old', name: 're-old' };
  const { id, createdAt } = await newMonitor(api, fields);
  await recordCheck(api, id, true);
  const day = createdAt.slice(0, 10);
  const file = fileOf('re', entry('re-old').replace('re-old', 're new'));
  const folder = await folderWith({ 'tocsin.yaml': file });
  const planOf = async (...args: string[]): Promise<string[]> =>
    (await api.tocsin(folder, ['diff', ...args])).out.split('\n').slice(-2);
  expect(await planOf('--prune')).toEqual([
    `  re new is probably re-old under a new externalId. Applying deletes its history since ${day}, resolves its incident, and alerts again if it is still DOWN. To rename it instead, first run:`,
    `    tocsin rename re-old 're new'`,
  ]);
  const kept = (await planOf()).join(' ');
  expect(kept).toContain(`Applying keeps both, and re new starts without the history since ${day}.`);
  const renameWith = (apiKey = api.account.key) =>
    api.tocsin(folder, ['rename', 're-old', 're new'], { env: { TOCSIN_API_KEY: apiKey } });
  expect((await renameWith(api.account.readKey)).err).toContain('needs the scope write');
  const { key } = await api.newKey('read,write', null, ['team/*']);
  expect((await renameWith(key)).err).toContain('source "re"');
  expect(await renameWith()).toMatchObject({
    code: 0,
    out: 'Renamed "re-old" to "re new". Change `externalId` in the files, too.',
  });
  const { body } = await api.as().get(`/api/cli/monitors/${id}`);
  expect(body).toMatchObject({ monitor: { externalId: 're new', status: 'DOWN', createdAt }, events: [{}] });
  expect((await renameWith()).out).toBe(
    `Already renamed: "re new" is monitor ${id} ("re-old") of source "re", created on ${day}.`,
  );
});

/** Returns the arguments of each `tocsin` command in a pipeline, including those in comments, without the command that maintain runs. */
function commandsOf(text: string): Map<string, string[]> {
  const lines = [...text.matchAll(/^[ #-]*(?:run: )?tocsin (.+?)(?= -- | >|$)/gm)];
  const commands = lines.map(([, line = '']) => line.split(' '));
  return new Map(commands.map((args) => [args[0] ?? '', args]));
}

test.each(['examples/github-actions.yml', 'examples/gitlab-ci.yml'])(
  'the commands of %s work with the keys that it asks for',
  async (path) => {
    const text = readFileSync(path, 'utf8');
    parse(text, { uniqueKeys: true });
    const commands = commandsOf(text);
    expect([...commands.keys()]).toEqual(['validate', 'diff', 'apply', 'maintain', 'trigger']);
    const file = fileOf('repository', entry('pipe', ', labels: { app: shop }'));
    const folder = await folderWith({ 'monitors/a.yaml': file });
    const { key } = await api.newKey('read,write', null, ['repository']);
    const run = async (name: string, apiKey: string): Promise<number> =>
      (await api.tocsin(folder, commands.get(name) ?? [], { env: { TOCSIN_API_KEY: apiKey } })).code;
    await api.database.pool.query('delete from monitors');
    expect(await run('validate', '')).toBe(0);
    expect(await run('diff', api.account.readKey)).toBe(2);
    expect(await run('apply', key)).toBe(0);
    expect(await run('diff', api.account.readKey)).toBe(0);
    expect(await run('maintain', key)).toBe(0);
    await api.database.pool.query('delete from monitors');
    // No monitor has the label.
    expect(await run('trigger', key)).toBe(6);
  },
);

test('in the example workflow, only steps that run diff or apply get the API key, and only steps that call gh api get the GitHub token', () => {
  interface Scope {
    readonly env?: Readonly<Record<string, string>>;
  }
  interface Workflow extends Scope {
    readonly jobs: Readonly<
      Record<string, Scope & { readonly steps: readonly (Scope & { readonly run?: string })[] }>
    >;
  }
  const workflow = parse(readFileSync('examples/github-actions.yml', 'utf8')) as Workflow;
  const jobs = Object.values(workflow.jobs);
  const secretsOf = ({ env = {} }: Scope): string[] =>
    Object.keys(env).filter((name) => /secrets\.|github\.token/.test(env[name] ?? ''));
  expect([workflow, ...jobs].flatMap(secretsOf)).toEqual([]);
  for (const step of jobs.flatMap(({ steps }) => steps)) {
    const { run = '' } = step;
    const keys = /tocsin (diff|apply)/.test(run) ? ['TOCSIN_API_KEY', 'SHOP_TOKEN'] : [];
    expect(secretsOf(step)).toEqual(run.includes('gh api') ? ['GH_TOKEN'] : keys);
  }
});
