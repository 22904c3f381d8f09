import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { newMonitor, recordCheck } from '@tocsin/api/testing/monitors';
import { openTestApi, type TestApi } from '@tocsin/api/testing/test-api';
import type { MonitorSetResult } from '@tocsin/contracts/monitor-sets/monitor-set';
import { folderWith, type Ran, runIn } from './fake-terminal.ts';

let api: TestApi;
beforeAll(async () => {
  api = await openTestApi({ settings: { regions: ['default', 'eu'] } });
});
afterAll(() => api.close());

function tocsin(folder: string, args: string[], answer: Parameters<typeof runIn>[3] = null): Promise<Ran> {
  const env = { TOCSIN_URL: `http://127.0.0.1:${api.port}/`, TOCSIN_API_KEY: api.account.key };
  return runIn(folder, args, env, answer);
}

const fileOf = (source: string, ...monitors: string[]): string =>
  `source: ${source}\nmonitors:\n${monitors.map((fields) => `  - ${fields}\n`).join('')}`;
const entry = (key: string, more = ''): string =>
  `{ externalId: ${key}, name: ${key}, url: "https://${key}.example"${more} }`;

async function keysOf(source: string): Promise<(string | null)[]> {
  const { rows } = await api.database.pool.query<{ external_id: string | null }>(
    'select external_id from monitors where source = $1 order by 1',
    [source],
  );
  return rows.map((row) => row.external_id);
}

test('a file is compared, applied, applied again without changes, changed and pruned', async () => {
  const folder = await folderWith({ 'tocsin.yaml': fileOf('way', entry('way-a'), entry('way-b')) });
  const dry = await tocsin(folder, ['apply', '--dry-run']);
  expect([dry.code, dry.out]).toEqual([
    2,
    `source way
  + way-a  https://way-a.example
  + way-b  https://way-b.example
  2 to create, 0 to change, 0 to delete, 0 unchanged`,
  ]);
  expect(await keysOf('way')).toEqual([]);
  const first = await tocsin(folder, ['apply']);
  expect([first.code, first.out.split('\n').at(-1)]).toEqual([
    0,
    'source way: 2 created, 0 changed, 0 deleted, 0 unchanged',
  ]);
  const second = await tocsin(folder, ['apply', '--json']);
  const { sets } = JSON.parse(second.out) as { sets: MonitorSetResult[] };
  expect([second.code, sets]).toEqual([0, [expect.objectContaining({ source: 'way', changed: false })]]);
  expect((await tocsin(folder, ['diff'])).code).toBe(0);

  const changed = entry('way-a', ', interval: 30, headers: { X: secret }, regions: [eu]');
  await writeFile(join(folder, 'tocsin.yaml'), fileOf('way', changed));
  const diff = await tocsin(folder, ['diff', '--prune']);
  expect([diff.code, diff.out]).toEqual([
    2,
    `source way
  ~ way-a  interval 60 → 30, headers, regions [] → ["eu"]
  - way-b
  0 to create, 1 to change, 1 to delete, 0 unchanged`,
  ]);
  const kept = await tocsin(folder, ['apply']);
  expect(kept.out).toContain('1 in no file, kept without --prune: way-b');
  expect(await keysOf('way')).toEqual(['way-a', 'way-b']);
  expect((await tocsin(folder, ['apply', '--prune'])).code).toBe(0);
  expect(await keysOf('way')).toEqual(['way-a']);
});

test('values of variables are not shown, because logs contain plans', async () => {
  const defaults = 'defaults: { assertions: { bodyContains: "${WORD}" } }';
  const monitor = '{ externalId: veil-a, name: a, url: "https://a.example/?token=${TOKEN}" }';
  const folder = await folderWith({
    'tocsin.yaml': `source: veil\n${defaults}\nmonitors:\n  - ${monitor}\n`,
  });
  const ran = [];
  for (const value of ['hush-1', 'hush-2']) {
    const env = {
      TOCSIN_URL: `http://127.0.0.1:${api.port}`,
      TOCSIN_API_KEY: api.account.key,
      TOKEN: value,
      WORD: value,
    };
    ran.push(await runIn(folder, ['diff'], env), await runIn(folder, ['apply'], env));
  }
  const text = ran.map(({ out, err }) => out + err).join('\n');
  expect(text).toContain('  + veil-a  https://a.example/?token=${TOKEN}\n');
  expect(text).toContain('  ~ veil-a  url, assertions\n');
  expect(text).not.toContain('hush');
});

test('diff finds every difference with a read-only key', async () => {
  const withSecrets = (token: string, body: string): string =>
    entry('read-a', `, method: POST, headers: { Authorization: ${token} }, body: ${body}`);
  const folder = await folderWith({ 'tocsin.yaml': fileOf('read', withSecrets('hush-1', 'hush-2')) });
  expect((await tocsin(folder, ['apply'])).code).toBe(0);
  const env = { TOCSIN_URL: `http://127.0.0.1:${api.port}`, TOCSIN_API_KEY: api.account.readKey };
  expect((await runIn(folder, ['diff'], env)).code).toBe(0);
  for (const [file, fields] of [
    [withSecrets('other', 'hush-2'), 'headers'],
    [withSecrets('hush-1', 'other'), 'body'],
    [entry('read-a', ', method: POST'), 'headers, body'],
  ] as const) {
    await writeFile(join(folder, 'tocsin.yaml'), fileOf('read', file));
    const diff = await runIn(folder, ['diff'], env);
    expect([diff.code, diff.out]).toEqual([2, expect.stringContaining(`~ read-a  ${fields}\n`)]);
  }
});

test('apply asks for confirmation on a terminal, unless --yes is given', async () => {
  const folder = await folderWith({ 'tocsin.yaml': fileOf('ask', entry('ask-a')) });
  const refused = await tocsin(folder, ['apply'], false);
  expect([refused.code, refused.questions, refused.err]).toEqual([
    1,
    ['Apply these changes?'],
    'Nothing was changed.',
  ]);
  expect(await keysOf('ask')).toEqual([]);
  expect((await tocsin(folder, ['apply', '--yes'], false)).questions).toEqual([]);
  expect(await keysOf('ask')).toEqual(['ask-a']);
  expect((await tocsin(folder, ['apply'], true)).questions).toEqual([]);
});

test('a confirmed apply is refused if the plan has changed', async () => {
  const folder = await folderWith({ 'tocsin.yaml': fileOf('agreed', entry('agreed-a')) });
  const meanwhile = async (): Promise<void> => {
    await newMonitor(api, { externalId: 'agreed-b', source: 'agreed' });
  };
  const ran = await tocsin(folder, ['apply', '--prune'], meanwhile);
  expect([ran.code, ran.err]).toEqual([
    1,
    expect.stringContaining(
      'The plan for source agreed has changed since it was shown. Review it and apply again.',
    ),
  ]);
  expect(await keysOf('agreed')).toEqual(['agreed-b']);
  expect((await tocsin(folder, ['apply', '--prune'], true)).code).toBe(0);
  expect(await keysOf('agreed')).toEqual(['agreed-a']);
});

test('if one of several sources fails, the results of the earlier ones are printed', async () => {
  const folder = await folderWith();
  for (const [at, flags] of [
    [1, []],
    [2, ['--json']],
  ] as const) {
    for (const file of ['a', 'b', 'c'])
      await writeFile(join(folder, `${file}.yaml`), fileOf(`part-${file}${at}`, entry(`part-${file}${at}`)));
    const meanwhile = async (): Promise<void> => {
      await newMonitor(api, { externalId: `part-b${at}`, source: `part-b${at}` });
    };
    const ran = await tocsin(folder, ['apply', '-f', '.', ...flags], meanwhile);
    expect([ran.code, ran.err]).toEqual([
      1,
      expect.stringContaining(`Not applied: part-b${at}, part-c${at}.`),
    ]);
    expect(await keysOf(`part-a${at}`)).toHaveLength(1);
    expect(await keysOf(`part-c${at}`)).toEqual([]);
    if (at === 1) expect(ran.out).toContain('source part-a1: 1 created');
    else
      expect(JSON.parse(ran.out)).toMatchObject({
        sets: [{ dryRun: false }, { dryRun: true }, { dryRun: true }],
      });
  }
});

test('errors of the API have positions in the file', async () => {
  const { id } = await newMonitor(api, { externalId: 'place-b', name: 'By hand' });
  const folder = await folderWith({ 'm/a.yaml': fileOf('place', entry('place-a', ', regions: [mars]')) });
  const region = await tocsin(folder, ['apply', '-f', 'm']);
  expect([region.code, region.err]).toEqual([
    1,
    `tocsin: 1 error in the files:\n  m/a.yaml:3:85: regions.0 must be one of default, eu`,
  ]);
  await writeFile(join(folder, 'm/a.yaml'), fileOf('place', entry('place-a'), entry('place-b')));
  const conflict = await tocsin(folder, ['apply', '-f', 'm']);
  expect(conflict.code).toBe(1);
  expect(conflict.err).toContain('give the monitor this source first');
  expect(conflict.err).toContain(
    `  m/a.yaml:4:7: externalId "place-b" is the externalId of monitor ${id} ("By hand"), which has no source`,
  );
  expect(await keysOf('place')).toEqual([]);
});

test('an exported file changes nothing, and --adopt includes monitors without a source', async () => {
  const folder = await folderWith({ 'tocsin.yaml': fileOf('out', entry('out-a')) });
  await tocsin(folder, ['apply']);
  const headers = { 'X-Key': 'secret ${x}', Accept: '*/*' };
  const free = await newMonitor(api, {
    name: 'Free: Bird ${1}',
    headers,
    method: 'POST',
    body: 'a\n "b" ${c}\n',
  });
  const several = await tocsin(folder, ['export']);
  expect([several.code, several.err]).toEqual([1, expect.stringContaining('Select one with --source')]);
  expect((await tocsin(folder, ['export', '--source', 'out', '-o', 'one.yaml'])).code).toBe(0);
  expect((await tocsin(folder, ['diff', '-f', 'one.yaml', '--prune'])).code).toBe(0);

  const taken = await tocsin(folder, ['export', '--source', 'out', '--adopt', '-o', 'one.yaml']);
  expect([taken.code, taken.err]).toEqual([1, 'tocsin: one.yaml already exists. Choose another file.']);
  expect(await keysOf('out')).toEqual(['out-a']);
  const hidden = await tocsin(folder, ['export', '--source', 'out', '--adopt', '-o', 'two.yaml']);
  expect(hidden.err).toMatch(
    /set: TOCSIN_SECRET_FREE_BIRD_1_X_KEY_2336B0C8E1F29828, TOCSIN_SECRET_FREE_BIRD_1_BODY_278F82E44B66FDE5\. --secrets/,
  );
  const written = await readFile(join(folder, 'two.yaml'), 'utf8');
  expect(written).toMatch(/^# yaml-language-server: \$schema=http:\/\/127[\d.:]+\/schemas\/tocsin\.json\n/);
  expect(written).toContain('body: ${TOCSIN_SECRET_FREE_BIRD_1_BODY_278F82E44B66FDE5}\n');
  expect(await keysOf('out')).toContain('free-bird-1');
  const shown = await tocsin(folder, ['export', '--source', 'out', '--secrets', '-o', 'three.yaml']);
  expect(shown.code).toBe(0);
  const applied = await tocsin(folder, ['apply', '-f', 'three.yaml', '--prune', '--json']);
  const { sets } = JSON.parse(applied.out) as { sets: MonitorSetResult[] };
  expect(sets).toEqual([expect.objectContaining({ changed: false })]);
  expect(sets[0]?.unchanged).toContainEqual({ id: free.id, externalId: 'free-bird-1' });
});

test('an exported file has the required fields and labels, whatever their values', async () => {
  const fields = { externalId: 'bare', source: 'bare', name: '-', url: 'https://example.com' };
  await newMonitor(api, { ...fields, labels: { app: 'shop' } });
  const { out } = await tocsin(await folderWith(), ['export', '--source', 'bare']);
  expect(out.split('\n').slice(1)).toEqual([
    'source: bare',
    'monitors:',
    '  - externalId: bare',
    "    name: '-'",
    '    url: https://example.com',
    '    labels:',
    '      app: shop',
  ]);
});

test('an export with a read key has variables for what the key cannot read', async () => {
  const headers = { Accept: 'text/html', 'X-Key': 's3cret' };
  await newMonitor(api, { externalId: 'dim', source: 'dim', headers });
  const folder = await folderWith();
  const env = { TOCSIN_URL: `http://127.0.0.1:${api.port}`, TOCSIN_API_KEY: api.account.readKey };
  const args = ['export', '--source', 'dim'];
  const ran = await runIn(folder, args, env);
  expect([ran.code, ran.err]).toEqual([
    0,
    expect.stringContaining('This API key cannot read request bodies and header values.'),
  ]);
  expect(ran.out).toMatch(/ Accept: \$\{TOCSIN_SECRET_DIM_ACCEPT_\w+\}$/m);
  expect(ran.out).toMatch(/ X-Key: \$\{TOCSIN_SECRET_DIM_X_KEY_\w+\}$/m);
  expect(await runIn(folder, [...args, '--secrets'], env)).toMatchObject({
    code: 1,
    out: '',
    err: expect.stringContaining('For --secrets, use a key with the scope write'),
  });
});

test('apply with a read key, or for a source of another team, says which key is needed', async () => {
  const folder = await folderWith({ 'tocsin.yaml': fileOf('bound', entry('bound-a')) });
  const { key } = await api.newKey('read,write', null, ['team/*']);
  const url = { TOCSIN_URL: `http://127.0.0.1:${api.port}` };
  const read = await runIn(folder, ['apply'], { ...url, TOCSIN_API_KEY: api.account.readKey });
  expect([read.code, read.err]).toEqual([
    1,
    expect.stringMatching(/TOCSIN_API_KEY needs the scope write\.$/),
  ]);
  const bound = await runIn(folder, ['apply'], { ...url, TOCSIN_API_KEY: key });
  expect([bound.code, bound.err]).toEqual([1, expect.stringContaining('source "bound"')]);
  expect(bound.err).not.toContain('scope write');
  expect(await keysOf('bound')).toEqual([]);
});

test('labels are shown in a plan, and select monitors', async () => {
  const file = (labels: string): string =>
    fileOf('tag', entry('tag-a', `, labels: { ${labels} }`), entry('tag-b'));
  const folder = await folderWith({ 'tocsin.yaml': file('app: shop, tier: web') });
  expect((await tocsin(folder, ['apply'])).code).toBe(0);
  await writeFile(join(folder, 'tocsin.yaml'), file('app: shop, tier: api, team: a'));
  expect((await tocsin(folder, ['diff'])).out.split('\n')[1]).toBe(
    '  ~ tag-a  labels -tier=web +team=a +tier=api',
  );
  for (const [selector, keys] of [
    ['app=shop,tier in (web,api)', ['tag-a']],
    ['!app', ['tag-b']],
  ] as const) {
    const args = ['monitors', '--source', 'tag', '-l', selector, '--json'];
    const { monitors } = JSON.parse((await tocsin(folder, args)).out) as {
      monitors: { externalId: string }[];
    };
    expect(monitors.map(({ externalId }) => externalId)).toEqual(keys);
  }
  expect((await tocsin(folder, ['monitors', '-l', 'tier=web'])).out).toMatch(
    / {2}https:\/\/tag-a\.example {2}app=shop,tier=web$/,
  );
});

test('no monitor makes an exported file read other environment variables', async () => {
  const placeholder = 'a$${AWS_SECRET_ACCESS_KEY} ${AWS_SECRET_ACCESS_KEY} $';
  const monitors = [
    { externalId: 'aws-secret', headers: { 'Access-Key': 'x', 'User-Agent': placeholder } },
    { externalId: 'tocsin-api', headers: { Key: 'x' } },
    {
      externalId: placeholder,
      name: placeholder,
      url: 'https://a.example/${AWS_SECRET_ACCESS_KEY}',
      method: 'POST' as const,
      body: placeholder,
      assertions: { bodyContains: placeholder },
      runbookUrl: 'https://a.example/$${AWS_SECRET_ACCESS_KEY}',
    },
  ];
  for (const fields of monitors) await newMonitor(api, { source: 'hostile ${HOME}', ...fields });
  const folder = await folderWith();
  const hidden = await tocsin(folder, ['export', '--source', 'hostile ${HOME}', '-o', 'hidden.yaml']);
  expect(hidden.err).toMatch(
    /TOCSIN_SECRET_AWS_SECRET_ACCESS_KEY_[0-9A-F]{16}, TOCSIN_SECRET_TOCSIN_API_KEY_[0-9A-F]{16}/,
  );
  const written = await readFile(join(folder, 'hidden.yaml'), 'utf8');
  const read = [...written.matchAll(/(?<!\$)\$\{(\w+)/g)].map(([, name]) => name);
  expect(read).toHaveLength(3);
  expect(read.filter((name) => name?.startsWith('TOCSIN_SECRET_') !== true)).toEqual([]);
  // With the values in it, the file contains no variable, and applying it changes nothing.
  await tocsin(folder, ['export', '--source', 'hostile ${HOME}', '--secrets', '-o', 'shown.yaml']);
  const applied = await tocsin(folder, ['apply', '-f', 'shown.yaml', '--prune', '--json']);
  const { sets } = JSON.parse(applied.out) as { sets: MonitorSetResult[] };
  expect(sets).toEqual([expect.objectContaining({ changed: false })]);
});

test('monitors and events are listed as text and as JSON', async () => {
  const monitor = await newMonitor(api, { externalId: 'seen', name: 'Seen \u001b[2J', source: 'seen' });
  await recordCheck(api, monitor.id);
  await recordCheck(api, monitor.id, true);
  const folder = await folderWith();
  const list = await tocsin(folder, ['monitors', '--source', 'seen']);
  expect(list.out).toMatch(/^STATUS {2}EXTERNAL ID {2}SOURCE {2}NAME +INTERVAL {2}URL +LABELS\nDOWN {4}seen/);
  expect(list.out).not.toContain('\u001b');
  const json = JSON.parse((await tocsin(folder, ['monitors', '--source', 'seen', '--json'])).out) as object;
  expect(json).toEqual({ monitors: [expect.objectContaining({ id: monitor.id, status: 'DOWN' })] });
  const events = await tocsin(folder, ['events', 'seen']);
  expect(events.out.split('\n').map((line) => line.split(/\s+/)[1])).toEqual(['UP', 'DOWN']);
  const { out } = await tocsin(folder, [
    'events',
    monitor.id,
    '--json',
    '--since',
    monitor.createdAt,
    '-n',
    '1',
  ]);
  expect(JSON.parse(out)).toEqual({ events: [expect.objectContaining({ status: 'UP' })] });
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
  const out = await Promise.all(
    [
      ['diff', '--prune'],
      ['diff'],
      ['diff', '--prune', '-f', 'conflict.yaml'],
      ['monitors', '--source', 'evil'],
      ['monitors', '--source', 'evil', '--json'],
      ['events', 'evil'],
      ['export'],
    ].map((args) => tocsin(folder, args)),
  );
  for (const { out: text, err } of out) {
    expect(`${text}${err}`).toMatch(/evil|a\uFFFD {2}0 to delete/);
    for (const line of `${text}\n${err}`.split('\n')) expect(line).not.toMatch(control);
    expect(`${text}\n${err}`).not.toMatch(/^ {2}0 to delete/m);
  }
});

test.each([
  [['events', 'sen'], 'tocsin: There is no monitor "sen". Did you mean "seen"?'],
  [['aply'], /unknown command 'aply'/],
  [['tail', '--every', '0'], /It must be a whole number from 1/],
  [['tail', '-n', '501'], /Without --since, -n must be at most 500/],
  [['events', 'seen', '-n', '501'], /Without --since, -n must be at most 500/],
  [['monitors', '--status', 'broken'], /must be one of PENDING, UP/],
  [['--server', 'http://me:hush@localhost:1', 'monitors'], /must not contain a user name or password/],
  [['trigger'], /Name the monitors to check, or select them with -l/],
  [['monitors', '-l', 'app in shop'], /The selector has an unexpected "shop"/],
  [['trigger', '-l', 'app=none'], /No monitor has these labels/],
  [['diff', '--prune-sources', 'a*b'], /a prefix followed by \*/],
  [['--server', 'localhost', 'monitors'], /must be a URL such as/],
])('%j: a clear error', async (args, message) => {
  await newMonitor(api, { externalId: 'seen', source: 'errors' }).catch(() => undefined);
  const ran = await tocsin(await folderWith(), args);
  expect([ran.code, ran.out]).toEqual([1, '']);
  expect(ran.err).toMatch(message);
  expect(ran.err).not.toContain('hush');
});

test('an invalid and a missing API key are reported with a hint', async () => {
  const folder = await folderWith({ key: `${api.account.key}\n` });
  const url = `http://127.0.0.1:${api.port}`;
  const bad = await runIn(folder, ['monitors'], { TOCSIN_URL: url, TOCSIN_API_KEY: 'x' });
  expect([bad.code, bad.err]).toEqual([
    1,
    expect.stringContaining('Set TOCSIN_API_KEY to an API key of this server'),
  ]);
  expect((await runIn(folder, ['monitors'], { TOCSIN_URL: url })).err).toContain(
    'No API key. Set TOCSIN_API_KEY',
  );
  expect((await runIn(folder, ['monitors', '--server', url, '--api-key-file', 'key'])).code).toBe(0);
});
