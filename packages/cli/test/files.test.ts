import { readFileSync } from 'node:fs';
import { rm, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { type FileSet, loadSets } from '@tocsin-monitor/cli/files/load-sets';
import { monitorFileJsonSchema } from '@tocsin/contracts/monitor-sets/monitor-file';
import { entry, fakeTerminal, fileOf, folderWith, runIn } from './fake-terminal.ts';

async function load(
  files: Record<string, string>,
  env: Record<string, string> = {},
  paths: string[] = ['.'],
): Promise<readonly FileSet[]> {
  return loadSets(paths, undefined, fakeTerminal(await folderWith(files), { env }));
}

/** The errors of a file, one per line. */
async function faultsOf(text: string, env: Record<string, string> = {}): Promise<string[]> {
  const error: unknown = await load({ 'tocsin.yaml': text }, env).catch((failure: unknown) => failure);
  return [...(error as { lines: readonly string[] }).lines].map((line) => line.trim());
}

const keysOf = (set: FileSet | undefined, part: 'monitors' | 'channels' = 'monitors') =>
  set?.[part]?.map(({ externalId }) => externalId);

test('the schema for editors is up to date (update it with `pnpm --filter @tocsin-monitor/cli generate`)', () => {
  const published: unknown = JSON.parse(readFileSync('packages/cli/tocsin.schema.json', 'utf8'));
  expect(published).toEqual(JSON.parse(JSON.stringify(monitorFileJsonSchema())));
});

test('the example has 20 monitors of this machine and needs no variable', async () => {
  const [set] = await loadSets(['examples/tocsin.yaml'], undefined, fakeTerminal(process.cwd()));
  expect([set?.source, set?.monitors.length]).toEqual(['example', 20]);
  for (const { fields } of set?.monitors ?? []) expect(fields['url']).toMatch(/^http:\/\/localhost:3000\//);
});

test('fields of a monitor replace whole defaults, but labels are added to the default ones', async () => {
  const text = `source: shop
defaults: { interval: 30, headers: { A: "1", B: "2" }, labels: { team: a, tier: "\${TIER}" } }
monitors:
  - ${entry('a')}
  - ${entry('b', ', interval: 90, headers: { C: "3" }, labels: { app: shop, team: b }')}
  - ${entry('c', ', headers: null, labels: null')}
`;
  const [set] = await load({ 'tocsin.yaml': text }, { TIER: 'web' });
  expect(set?.monitors.map(({ fields }) => fields)).toMatchObject([
    { interval: 30, headers: { A: '1', B: '2' }, labels: { team: 'a', tier: 'web' } },
    { interval: 90, headers: { C: '3' }, labels: { team: 'b', tier: 'web', app: 'shop' } },
    { interval: 30, headers: null, labels: null },
  ]);
  expect(set?.monitors[1]?.fields['headers']).toEqual({ C: '3' });
  // The values of variables are never shown.
  expect(set?.monitors[1]?.written['labels']).toEqual({ team: 'b', tier: '${TIER}', app: 'shop' });
});

test('the files in a folder make one set per source, and other files are ignored', async () => {
  const channels = (key: string): string =>
    `channels: [{ externalId: ${key}, name: ${key}, url: "https://a.invalid" }]\n`;
  const sets = await load({
    'b/two.yml': fileOf('shop', entry('two')) + channels('x'),
    'a.yaml': fileOf('shop', entry('one')) + channels('y'),
    'other.yaml': fileOf('shop'),
    'c.yaml': fileOf('blog', entry('three')),
    'd.yaml': `${fileOf('empty')}channels: []\n`,
    'notes.txt': 'no: [yaml',
    '.hidden/x.yaml': 'no: [yaml',
    'node_modules/x.yaml': 'no: [yaml',
  });
  expect(sets.map((set) => [set.source, keysOf(set), keysOf(set, 'channels')])).toEqual([
    ['blog', ['three'], undefined],
    ['empty', [], []],
    ['shop', ['one', 'two'], ['y', 'x']],
  ]);
});

test('links in a folder are followed, as in a mounted ConfigMap', async () => {
  const cwd = await folderWith({
    'mounted/..2026_01/one.yaml': fileOf('shop', entry('one')),
    'elsewhere/two.yaml': fileOf('shop', entry('two')),
    'mounted/three.yaml': fileOf('shop', entry('three')),
  });
  await symlink('..2026_01', join(cwd, 'mounted/..data'));
  await symlink('..data/one.yaml', join(cwd, 'mounted/one.yaml'));
  await symlink('../elsewhere', join(cwd, 'mounted/linked'));
  await symlink('..', join(cwd, 'elsewhere/back'));
  const [set] = await loadSets(['mounted'], undefined, fakeTerminal(cwd));
  // The cleanup after the tests would follow it for ever.
  await rm(join(cwd, 'elsewhere/back'));
  expect(keysOf(set)?.toSorted()).toEqual(['one', 'three', 'two']);
  await rm(join(cwd, 'mounted/..2026_01/one.yaml'));
  await expect(loadSets(['mounted'], undefined, fakeTerminal(cwd))).rejects.toThrow(
    'Could not read mounted/one.yaml.',
  );
});

test.each([
  [['missing.yaml'], 'There is no file or folder missing.yaml.'],
  [['.'], 'There is no .yaml file in ..'],
  [[], 'There is no tocsin.yaml in this folder. Name a file or a folder with -f.'],
])('%j matches no file', async (paths, message) => {
  await expect(load({ 'x.txt': '' }, {}, paths)).rejects.toThrow(message);
});

describe('variables', () => {
  const env = { NAME: 'value: "x" # ${B}', EMPTY: '' };
  const named = (text: string): string =>
    `source: s\nmonitors:\n  - externalId: a\n    name: ${text}\n    url: https://a.example\n`;

  test.each([
    ['${NAME}', 'value: "x" # ${B}'],
    ['"a ${NAME} b"', 'a value: "x" # ${B} b'],
    ['${EMPTY:-other}', 'other'],
    ["'$${NAME} $NAME $${'", '${NAME} $NAME ${'],
  ])('%s', async (text, name) => {
    const [set] = await load({ 'tocsin.yaml': named(text) }, env);
    expect(set?.monitors[0]?.fields.name).toBe(name);
  });

  test.each([
    ['${MISSING}', /^tocsin\.yaml:4:5: the environment variable MISSING is not set/],
    ['${EMPTY}', /^tocsin\.yaml:4:5: the environment variable EMPTY is empty/],
    ['"${not a name}"', /^tocsin\.yaml:4:5: \$\{not a name\} is not a variable; write \$\$\{not a name\}/],
    ['"${NAME:-${MISSING}}"', /the default of NAME contains another variable/],
  ])('%s is an error', async (text, message) => {
    expect((await faultsOf(named(text), env))[0]).toMatch(message);
  });
});

describe('errors', () => {
  test('are reported together with file, line and column, including errors of defaults', async () => {
    const faults = await faultsOf(`source: shop
defaults:
  interval: 1
  labels: { a.b/c: "?" }
monitors:
  - externalId: a
    name: A
    url: example.com
    intervall: 5
  - name: B
    url: https://b.example
    source: shop
    assertions: { statuscode: 200 }
`);
    expect(faults).toEqual([
      expect.stringMatching(/^tocsin\.yaml:3:3: interval must be an integer from 5/),
      expect.stringMatching(/^tocsin\.yaml:4:13: labels\.a\.b\/c /),
      expect.stringMatching(/^tocsin\.yaml:8:5: url must be a full URL/),
      expect.stringMatching(/^tocsin\.yaml:9:5: intervall is not .* \(did you mean `interval`\?\)/),
      expect.stringMatching(/^tocsin\.yaml:10:5: externalId is required/),
      expect.stringMatching(/^tocsin\.yaml:13:19: assertions\.statuscode is not .*did you mean `statusCode`/),
      expect.stringMatching(/^tocsin\.yaml:12:5: `source` belongs at the top of the file/),
    ]);
  });

  test('for bytes that are not UTF-8 name their line', async () => {
    const cwd = await folderWith({ 'bom.yaml': '\ufeffsource: s\nmonitors: []\n' });
    await writeFile(join(cwd, 'latin.yaml'), Buffer.from('source: s\nmonitors: # f\xfcr\n', 'latin1'));
    await expect(loadSets(['latin.yaml'], undefined, fakeTerminal(cwd))).rejects.toThrow(
      'latin.yaml:2: the file is not valid UTF-8. Save it as UTF-8.',
    );
    expect(await loadSets(['bom.yaml'], undefined, fakeTerminal(cwd))).toHaveLength(1);
  });

  test('of a default that is invalid for a monitor have the position of the default', async () => {
    const defaults = 'source: s\ndefaults:\n  assertions:\n    bodyContains: x\n';
    const [fault] = await faultsOf(`${defaults}monitors: [${entry('a', ', method: HEAD')}]\n`);
    expect(fault).toMatch(/^tocsin\.yaml:4:5: assertions\.bodyContains cannot be used/);
  });

  test.each([
    ['source: a\nsource: b\nmonitors: []', /^tocsin\.yaml:2:1: this key is used twice/],
    ['', /^tocsin\.yaml:1:1: must contain source and monitors/],
    ['monitors: []', /^tocsin\.yaml:1:1: has no source/],
    ['source: a\nmonitor: []', /^tocsin\.yaml:2:1: monitor is not a known field \(did you mean `monitors`/m],
    ['source: a\nmonitors: [5]', /^tocsin\.yaml:2:12: must be an object with the fields of a monitor/],
    [
      'a: 1\n---\nb: 2',
      /^tocsin\.yaml:2:1: a file must contain one YAML document; move the part after `---`/,
    ],
    // Only the first error of each line is reported.
    ['- { a: ${X}, b: ${Y} }\n- a: b: c', /^tocsin\.yaml:1:.*\ntocsin\.yaml:2:[^\n]*$/],
    ['a: &a { <<: 5 }', /^tocsin\.yaml:1:1: a merge \(`<<`\) cannot be resolved/],
    ['a: &a [*a]', /^tocsin\.yaml:1:8: the alias \*a is inside the value that it refers to/],
    [
      'a: &a [x, x]\nb: &b [*a, *a]\nc: *missing',
      /^tocsin\.yaml:3:4: there is no anchor &missing before this alias/,
    ],
  ])('%j', async (text, message) => {
    expect((await faultsOf(text)).join('\n')).toMatch(message);
  });

  test('many monitors can use an anchor, but aliases that expand to millions are rejected', async () => {
    // The parser refuses more than 100 aliases by default.
    const monitors = Array.from({ length: 120 }, (_, index) => `{ <<: *base, externalId: k${index} }`);
    const base = `&base ${entry('a')}`;
    const [set] = await load({ 'tocsin.yaml': fileOf('s', base, ...monitors) });
    expect(set?.monitors).toHaveLength(121);
    const levels = Array.from(
      { length: 24 },
      (_, index) => `x${index + 1}: &x${index + 1} { a: { <<: *x${index} }, b: { <<: *x${index} } }\n`,
    );
    const list = (value: string): string => `[${Array.from({ length: 1_500 }, () => value).join()}]`;
    for (const text of [`x0: &x0 { k: v }\n${levels.join('')}`, `a: &a ${list('1')}\nb: ${list('*a')}`])
      expect(await faultsOf(text)).toEqual([
        expect.stringMatching(/^tocsin\.yaml:1:1: with its aliases, the file has more than \d+ values/),
      ]);
  });
});

describe('validate', () => {
  const VALID = `source: shop
defaults: { headers: { Authorization: "Bearer \${TOKEN}" } }
monitors:
  - { externalId: "\${A}", name: "\${NAME}", url: "\${URL}/x", method: "\${METHOD}" }
  - { externalId: "\${B}", name: b, url: "https://\${HOST}:\${PORT}/", labels: { app: "\${NAME}" } }
channels:
  - { externalId: a, name: a, url: "\${URL}", secret: "\${SECRET}" }
`;

  test('needs no server, and lists unset variables', async () => {
    const folder = await folderWith({ 'tocsin.yaml': VALID });
    const ran = await runIn(folder, ['validate'], { env: { HOST: 'shop.example' } });
    expect([ran.code, ran.out]).toEqual([0, 'Valid. Files: 1, sources: 1, monitors: 2, channels: 1.']);
    const lines = ran.err.split('\n').slice(1);
    expect(lines.map((line) => / variable (\w+) is not set/.exec(line)?.[1]).join()).toBe(
      'TOKEN,A,NAME,URL,METHOD,B,PORT,SECRET',
    );
    expect(lines[2]).toMatch(
      /^ {2}tocsin\.yaml:4:27: .* NAME is not set; .*; also used at tocsin\.yaml:5:79$/,
    );
  });

  test('reports the errors of all files, whether they are named as arguments or with -f', async () => {
    const folder = await folderWith({
      'a/one.yaml': fileOf('a', entry('same')),
      'b.yaml': fileOf('b', entry('same'), '{ externalId: b, name: b, url: "ftp://b" }'),
      'c.yaml': 'source: [',
      'd.yaml': 'source: d\nmonitors:\n  - externalId: d\n   name: d\n',
    });
    const ran = await runIn(folder, ['validate', 'a', 'b.yaml', '-f', 'c.yaml', '-f', 'd.yaml']);
    expect([ran.code, ran.out]).toEqual([6, '']);
    expect(ran.err.split('\n').map((line) => line.split(' must ')[0])).toEqual([
      'tocsin: 4 errors in the files:',
      '  b.yaml:4:31: url',
      '  c.yaml:1:10: the indentation is wrong, or a closing bracket is missing',
      '  d.yaml:4:1: the indentation is wrong, or a closing bracket is missing',
      '  b.yaml:3:7: externalId "same" is already used at a/one.yaml:3:7',
    ]);
  });

  test('reads standard input and reports errors with positions', async () => {
    const stdin = 'source: s\nmonitors: [{ externalId: a, name: A }]\n';
    expect((await runIn('/', ['validate', '-'], { stdin })).err).toMatch(/^ {2}stdin:2:12: url is required/m);
  });
});
