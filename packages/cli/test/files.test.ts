import { readFileSync } from 'node:fs';
import { rm, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { type FileSet, loadSets } from '@tocsin-monitor/cli/files/load-sets';
import { monitorFileJsonSchema } from '@tocsin/contracts/monitor-sets/monitor-file';
import { folderWith } from './fake-terminal.ts';

async function load(
  files: Record<string, string>,
  env: Record<string, string> = {},
  paths: string[] = ['.'],
): Promise<readonly FileSet[]> {
  return loadSets(paths, undefined, { cwd: await folderWith(files), env });
}

/** The errors, one per line. */
async function faultsOf(files: Record<string, string>, env: Record<string, string> = {}): Promise<string[]> {
  const error: unknown = await load(files, env).catch((failure: unknown) => failure);
  return [...(error as { lines: readonly string[] }).lines].map((line) => line.trim());
}

const fieldsOf = (sets: readonly FileSet[]): unknown[] =>
  sets.flatMap(({ monitors }) => monitors.map(({ fields }) => fields));

test('the schema for editors is up to date; `pnpm --filter @tocsin-monitor/cli generate` writes it', () => {
  const published: unknown = JSON.parse(readFileSync('packages/cli/tocsin.schema.json', 'utf8'));
  expect(published).toEqual(JSON.parse(JSON.stringify(monitorFileJsonSchema())));
});

test('the example has 20 monitors of this machine and needs no variable', async () => {
  const [set] = await loadSets(['examples/tocsin.yaml'], undefined, { cwd: process.cwd(), env: {} });
  expect([set?.source, set?.monitors.length]).toEqual(['example', 20]);
  for (const { fields } of set?.monitors ?? []) expect(fields['url']).toMatch(/^http:\/\/localhost:3000\//);
  const text = readFileSync('examples/tocsin.yaml', 'utf8');
  expect(text).toContain('# yaml-language-server: $schema=../packages/cli/tocsin.schema.json\n');
});

test('fields of a monitor replace defaults as a whole', async () => {
  const sets = await load({
    'tocsin.yaml': `
source: shop
defaults: { interval: 30, headers: { A: "1", B: "2" }, runbookUrl: https://wiki.example/a }
monitors:
  - { externalId: a, name: A, url: https://a.example }
  - { externalId: b, name: B, url: https://b.example, interval: 90, headers: { C: "3" }, runbookUrl: null }
`,
  });
  expect(fieldsOf(sets)).toEqual([
    {
      externalId: 'a',
      name: 'A',
      url: 'https://a.example',
      interval: 30,
      headers: { A: '1', B: '2' },
      runbookUrl: 'https://wiki.example/a',
    },
    {
      externalId: 'b',
      name: 'B',
      url: 'https://b.example',
      interval: 90,
      headers: { C: '3' },
      runbookUrl: null,
    },
  ]);
});

test('labels are added to the default ones; null removes them all', async () => {
  const [set] = await load(
    {
      'tocsin.yaml': `
source: shop
defaults: { labels: { team: a, tier: "\${TIER}" } }
monitors:
  - { externalId: a, name: A, url: https://a.example }
  - { externalId: b, name: B, url: https://b.example, labels: { app: shop, team: b } }
  - { externalId: c, name: C, url: https://c.example, labels: null }
`,
    },
    { TIER: 'web' },
  );
  expect(set?.monitors.map(({ fields }) => fields.labels)).toEqual([
    { team: 'a', tier: 'web' },
    { team: 'b', tier: 'web', app: 'shop' },
    null,
  ]);
  // The values of variables are never shown.
  expect(set?.monitors.map(({ hidden }) => hidden.has('labels'))).toEqual([true, true, false]);
});

test('`-` is standard input', async () => {
  const text = 'source: s\nmonitors: [{ externalId: a, name: A }]\n';
  const input = { cwd: '/', env: {}, readStdin: () => Promise.resolve(Buffer.from(text)) };
  const error: unknown = await loadSets(['-'], undefined, input).catch((failure: unknown) => failure);
  expect((error as { lines: readonly string[] }).lines).toEqual([
    expect.stringMatching(/^ {2}stdin:2:12: url is required/),
  ]);
});

test('the files of a folder make one set per source; other files are ignored', async () => {
  const file = (source: string, key: string): string =>
    `source: ${source}\nmonitors: [{ externalId: ${key}, name: ${key}, url: "https://x.example" }]\n`;
  const sets = await load({
    'b/two.yml': file('shop', 'two'),
    'a.yaml': file('shop', 'one'),
    'c.yaml': file('blog', 'three'),
    'notes.txt': 'no: [yaml',
    '.hidden/x.yaml': 'no: [yaml',
    'node_modules/x.yaml': 'no: [yaml',
  });
  expect(sets.map(({ source, monitors }) => [source, monitors.map(({ externalId }) => externalId)])).toEqual([
    ['blog', ['three']],
    ['shop', ['one', 'two']],
  ]);
});

test('links in a folder are followed, as in a mounted ConfigMap', async () => {
  const file = (key: string): string =>
    `source: shop\nmonitors: [{ externalId: ${key}, name: ${key}, url: "https://x.example" }]\n`;
  const cwd = await folderWith({
    'mounted/..2026_01/one.yaml': file('one'),
    'elsewhere/two.yaml': file('two'),
    'mounted/three.yaml': file('three'),
  });
  await symlink('..2026_01', join(cwd, 'mounted/..data'));
  await symlink('..data/one.yaml', join(cwd, 'mounted/one.yaml'));
  await symlink('../elsewhere', join(cwd, 'mounted/linked'));
  await symlink('..', join(cwd, 'elsewhere/back'));
  const [set] = await loadSets(['mounted'], undefined, { cwd, env: {} });
  // The cleanup after the tests would follow it for ever.
  await rm(join(cwd, 'elsewhere/back'));
  expect(set?.monitors.map(({ externalId }) => externalId).toSorted()).toEqual(['one', 'three', 'two']);
  await rm(join(cwd, 'mounted/..2026_01/one.yaml'));
  await expect(loadSets(['mounted'], undefined, { cwd, env: {} })).rejects.toThrow(
    'Could not read mounted/one.yaml.',
  );
});

describe('variables', () => {
  const file = (text: string): Record<string, string> => ({
    'tocsin.yaml': `source: s\nmonitors:\n  - externalId: a\n    name: ${text}\n    url: https://a.example\n`,
  });

  test.each([
    ['${NAME}', 'value: "x" # ${B}'],
    ['"a ${NAME} b"', 'a value: "x" # ${B} b'],
    ['${EMPTY:-other}', 'other'],
    ['${MISSING:-}x', 'x'],
    ["'$${NAME} $NAME $${'", '${NAME} $NAME ${'],
  ])('%s', async (text, name) => {
    const sets = await load(file(text), { NAME: 'value: "x" # ${B}', EMPTY: '' });
    expect(fieldsOf(sets)).toMatchObject([{ name }]);
  });

  test.each([
    ['${MISSING}', /^tocsin\.yaml:4:5: the environment variable MISSING is not set/],
    ['${EMPTY}', /^tocsin\.yaml:4:5: the environment variable EMPTY is empty/],
    ['"${not a name}"', /^tocsin\.yaml:4:5: \$\{not a name\} is not a variable; write \$\$\{not a name\}/],
    ["'${NAME'", /is not a variable/],
    ['"${MISSING:-${NAME}}"', /^tocsin\.yaml:4:5: the default of MISSING contains another variable/],
    ['"${NAME:-${MISSING}}"', /the default of NAME contains another variable/],
  ])('%s is an error', async (text, message) => {
    expect((await faultsOf(file(text), { EMPTY: '', NAME: 'x' }))[0]).toMatch(message);
  });
});

test('an unset variable is reported once, with every position', async () => {
  const monitor = (key: string): string =>
    `  - externalId: ${key}\n    name: \${NAME}\n    url: https://\${NAME}/\n`;
  expect(
    await faultsOf({
      'a.yaml': `source: s\nmonitors:\n${monitor('a')}`,
      'b.yaml': `source: s\nmonitors:\n${monitor('b')}`,
    }),
  ).toEqual([
    expect.stringMatching(
      /^a\.yaml:4:5: the environment variable NAME is not set; .*; also used at a\.yaml:5:5, b\.yaml:4:5, b\.yaml:5:5$/,
    ),
  ]);
});

describe('errors', () => {
  test('are reported together, each with file, line and column, also those of defaults', async () => {
    const faults = await faultsOf({
      'tocsin.yaml': `source: shop
defaults:
  interval: 1
  method: HEAD
monitors:
  - externalId: a
    name: A
    url: example.com
    intervall: 5
  - name: B
    url: https://b.example
  - externalId: c
    name: C
    url: https://c.example
    source: shop
    assertions: { statuscode: 200 }
`,
    });
    expect(faults).toEqual([
      expect.stringMatching(/^tocsin\.yaml:3:3: interval must be an integer from 5/),
      expect.stringMatching(/^tocsin\.yaml:8:5: url must be a full URL/),
      expect.stringMatching(
        /^tocsin\.yaml:9:5: intervall is not a known field \(did you mean `interval`\?\)/,
      ),
      expect.stringMatching(/^tocsin\.yaml:10:5: externalId is required/),
      expect.stringMatching(/^tocsin\.yaml:16:19: assertions\.statuscode is not .*did you mean `statusCode`/),
      expect.stringMatching(/^tocsin\.yaml:15:5: `source` belongs at the top of the file/),
    ]);
  });

  test('of all files are reported together, including invalid YAML', async () => {
    const faults = await faultsOf({
      'a.yaml': 'source: [',
      'b.yaml': 'source: s\nmonitors: [5]',
      'c.yaml': 'source: s\ndefaults: { labels: { a.b/c: "?" } }\nmonitors: []',
    });
    expect(faults.map((fault) => fault.split(' ')[0])).toEqual([
      'a.yaml:1:10:',
      'b.yaml:2:12:',
      'c.yaml:2:23:',
    ]);
  });

  test('of the syntax are reported once for each line', async () => {
    const text = 'source: s\nmonitors:\n  - { externalId: a, name: ${X}, url: ${Y} }\n  - name: a: b: c\n';
    expect((await faultsOf({ 'tocsin.yaml': text })).map((fault) => fault.split(':')[1])).toEqual(['3', '4']);
  });

  test('bytes that are not UTF-8 are reported with their line', async () => {
    const folder = await folderWith({ 'bom.yaml': '\ufeffsource: s\nmonitors: []\n' });
    await writeFile(join(folder, 'latin.yaml'), Buffer.from('source: s\nmonitors: # f\xfcr\n', 'latin1'));
    const input = { cwd: folder, env: {} };
    await expect(loadSets(['latin.yaml'], undefined, input)).rejects.toThrow(
      'latin.yaml:2: the file is not valid UTF-8. Save it as UTF-8.',
    );
    expect(await loadSets(['bom.yaml'], undefined, input)).toHaveLength(1);
  });

  test('a default that is invalid for a monitor is reported at its own position', async () => {
    const faults = await faultsOf({
      'tocsin.yaml':
        'source: s\ndefaults:\n  assertions:\n    bodyContains: x\nmonitors:\n  - { externalId: a, name: A, url: "https://a.example", method: HEAD }\n',
    });
    expect(faults).toEqual([
      expect.stringMatching(/^tocsin\.yaml:4:5: assertions\.bodyContains cannot be used/),
    ]);
  });

  test('a repeated externalId is reported with both positions', async () => {
    const file = (source: string): string =>
      `source: ${source}\nmonitors:\n  - externalId: same\n    name: A\n    url: https://a.example\n`;
    expect(await faultsOf({ 'a.yaml': file('one'), 'b.yaml': file('two') })).toEqual([
      'b.yaml:3:5: externalId "same" is already used at a.yaml:3:5',
    ]);
  });

  test.each([
    ['source: [', /^tocsin\.yaml:1:\d+: /],
    ['source: a\nsource: b\nmonitors: []', /^tocsin\.yaml:2:1: this key is used twice/],
    ['', /^tocsin\.yaml:1:1: must contain source and monitors/],
    ['monitors: []', /^tocsin\.yaml:1:1: has no source/],
    ['source: a\nmonitor: []', /^tocsin\.yaml:2:1: monitor is not a known field \(did you mean `monitors`/m],
    ['source: a\nmonitors: [5]', /^tocsin\.yaml:2:12: must be an object with the fields of a monitor/],
    [
      'a: 1\n---\nb: 2',
      /^tocsin\.yaml:2:1: a file must contain one YAML document; move the part after `---`/,
    ],
    ['source: a: b', /^tocsin\.yaml:1:9: this line contains a second `key:`/],
    ['source: a\n\tmonitors: []', /^tocsin\.yaml:2:1: /],
    ['source: "a', /^tocsin\.yaml:1:11: a quote, bracket, comma, `:` or space is missing here/],
    ['source: @a', /^tocsin\.yaml:1:9: a value cannot start with this character/],
    ['a: &a { <<: 5 }', /^tocsin\.yaml:1:1: an alias or a merge \(`<<`\) cannot be resolved/],
    ['a: &a [*a]', /^tocsin\.yaml:1:8: the alias \*a is inside the value that it refers to/],
    [
      'a: &a [x, x]\nb: &b [*a, *a]\nc: *missing',
      /^tocsin\.yaml:3:4: there is no anchor &missing before this alias/,
    ],
  ])('%j', async (text, message) => {
    expect((await faultsOf({ 'tocsin.yaml': text })).join('\n')).toMatch(message);
  });

  test('an anchor can be used by every monitor of a large set; aliases that expand to millions are refused', async () => {
    const monitor = (index: number): string =>
      `  - { <<: *base, externalId: k${index}, headers: *headers }\n`;
    const monitors = Array.from({ length: 500 }, (_, index) => monitor(index)).join('');
    const [set] = await load({
      'tocsin.yaml': `source: s\nmonitors:\n  - &base { externalId: a, name: A, url: "https://a.example", headers: &headers { X: "1" } }\n${monitors}`,
    });
    expect(set?.monitors).toHaveLength(501);
    const levels = Array.from(
      { length: 24 },
      (_, index) => `x${index + 1}: &x${index + 1} { a: { <<: *x${index} }, b: { <<: *x${index} } }\n`,
    );
    expect(await faultsOf({ 'tocsin.yaml': `x0: &x0 { k: v }\n${levels.join('')}` })).toEqual([
      expect.stringMatching(/^tocsin\.yaml:1:1: aliases expand to more than \d+ values/),
    ]);
  });

  test.each([
    [['missing.yaml'], 'There is no file or folder missing.yaml.'],
    [['.'], 'There is no .yaml file in ..'],
    [[], 'There is no tocsin.yaml in this folder. Name a file or a folder with -f.'],
  ])('%j matches no file', async (paths, message) => {
    await expect(load({ 'x.txt': '' }, {}, paths)).rejects.toThrow(message);
  });
});
