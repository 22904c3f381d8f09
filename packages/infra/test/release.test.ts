import { execFile } from 'node:child_process';
import { mkdir, readFile, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { createTemporaryFolder } from '@tocsin/embedded/testing/temporary-folder';
import {
  inspectChart,
  isLoopback,
  listArtifacts,
  readDigest,
  writeChecksums,
  wrongLabels,
} from '@tocsin/infra/release/artifacts';
import { checkFacts, readFacts, readTopSection, type ReleaseFacts } from '@tocsin/infra/release/checks';
import { withNpmConfig } from '@tocsin/infra/release/main';

const HEAD = 'a'.repeat(40);
const DIGEST = `sha256:${'0'.repeat(64)}`;

let folder: Awaited<ReturnType<typeof createTemporaryFolder>>;
beforeEach(async () => {
  folder = await createTemporaryFolder();
});
afterEach(() => folder.remove());

test.each([
  ['no section', '# Changelog\n\nText.\n', null],
  ['an unreleased section', '# Changelog\n\n## Unreleased\n\n- One.\n', ['Unreleased', null, '- One.']],
  [
    'a released section above another',
    '# Changelog\n\n## 1.2.3 - 2026-12-01\n\n- One.\n\n### More\n\n- Two.\n\n## 1.2.2 - 2026-11-01\n\n- Old.\n',
    ['1.2.3 - 2026-12-01', { version: '1.2.3', date: '2026-12-01' }, '- One.\n\n### More\n\n- Two.'],
  ],
  ['an empty section', '## 1.0.0 - 2026-12-01\n', ['1.0.0 - 2026-12-01', expect.anything(), '']],
  ['no date', '## 1.0.0\n- One.', ['1.0.0', null, '- One.']],
  ['an impossible date', '## 1.0.0 - 2026-02-30\n- One.', ['1.0.0 - 2026-02-30', null, '- One.']],
  ['CRLF', '# Changelog\r\n\r\n## Unreleased\r\n\r\n- One.\r\n', ['Unreleased', null, '- One.']],
])('readTopSection reads a changelog with %s', (_, changelog, expected) => {
  const section = readTopSection(changelog);
  expect(section === null ? null : [section.heading, section.release, section.body]).toEqual(expected);
});

describe('a release', () => {
  const READY: ReleaseFacts = {
    version: '1.2.3',
    statements: [{ where: 'packages/cli/package.json', version: '1.2.3' }],
    changelog: '# Changelog\n\n## 1.2.3 - 2026-12-01\n\n- One.\n',
    head: HEAD,
    created: '2026-12-01T00:00:00.000Z',
    taggedCommit: HEAD,
    headTags: ['v1.2.3'],
    changes: [],
    registry: 'registry.example.com:5000/team',
  };

  test('is ready when every statement agrees, with or without a tag', () => {
    expect(checkFacts(READY)).toEqual({ problems: [], pending: [] });
    expect(checkFacts({ ...READY, taggedCommit: null, headTags: [] })).toEqual({ problems: [], pending: [] });
  });

  test.each<[string, Partial<ReleaseFacts>, string]>([
    [
      'another version',
      { statements: [{ where: 'b/package.json', version: '1.2.2' }] },
      'b/package.json: the version is 1.2.2, not 1.2.3',
    ],
    [
      'no version',
      { statements: [{ where: 'chart', version: undefined }] },
      'chart: the version is missing, not 1.2.3',
    ],
    [
      'a version with build metadata',
      { version: '1.2.3+4', statements: [], changelog: '## 1.2.3+4 - 2026-12-01\n- One.', headTags: [] },
      'package.json: "1.2.3+4" is not a version',
    ],
    [
      'a changelog of another version',
      { changelog: '## 1.2.2 - 2026-12-01\n- One.' },
      'CHANGELOG.md: the first section is about 1.2.2, not 1.2.3',
    ],
    [
      'a changelog without a date',
      { changelog: '## 1.2.3\n- One.' },
      'CHANGELOG.md: the first heading is "## 1.2.3", not "## 1.2.3 - YYYY-MM-DD"',
    ],
    ['no changelog', { changelog: '' }, 'CHANGELOG.md: there is no section'],
    [
      'a registry with a scheme',
      { registry: 'https://images.example.com' },
      'IMAGE_REGISTRY: "https://images.example.com" is not a registry',
    ],
    [
      'a registry in upper case',
      { registry: 'registry.example.com/Team' },
      'IMAGE_REGISTRY: "registry.example.com/Team" is not a registry',
    ],
  ])('cannot be built with %s', (_, change, problem) => {
    const { problems, pending } = checkFacts({ ...READY, ...change });
    expect(problems).toEqual([expect.stringContaining(problem)]);
    expect(pending).toEqual([]);
  });

  test.each<[string, Partial<ReleaseFacts>, string]>([
    [
      'an unreleased changelog',
      { changelog: '## Unreleased\n- One.' },
      'rename the section "## Unreleased" to "## 1.2.3 - YYYY-MM-DD"',
    ],
    [
      'an empty changelog',
      { changelog: '## 1.2.3 - 2026-12-01\n' },
      'the section "## 1.2.3 - 2026-12-01" is empty',
    ],
    [
      'a tag on another commit',
      { taggedCommit: 'b'.repeat(40), headTags: [] },
      'the tag v1.2.3 belongs to another commit, bbbbbbbbbbbb',
    ],
    [
      'a tag of another version',
      { taggedCommit: null, headTags: ['v1.2.4'] },
      'this commit is tagged v1.2.4, but its version is 1.2.3',
    ],
    ['uncommitted changes', { changes: ['M README.md', '?? a'] }, '2 uncommitted changes: M README.md, ?? a'],
    ['no registry', { registry: undefined }, 'IMAGE_REGISTRY is not set'],
  ])('can be built, but not published, with %s', (_, change, line) => {
    const { problems, pending } = checkFacts({ ...READY, ...change });
    expect(problems).toEqual([]);
    expect(pending).toEqual([expect.stringContaining(line)]);
  });

  test('reports every problem at once', () => {
    const { problems, pending } = checkFacts({
      ...READY,
      statements: ['a', 'b'].map((where) => ({ where, version: '0.0.1' })),
      changelog: '## 1.2.2 - 2026-12-01\n',
      changes: ['M a'],
      registry: undefined,
    });
    expect([problems.length, pending.length]).toEqual([3, 3]);
  });

  test('can be built from this repository', async () => {
    const facts = await readFacts('registry.example.com');
    expect(facts.statements.map(({ where }) => where)).toEqual(
      expect.arrayContaining(['packages/cli/package.json', 'services/api/package.json']),
    );
    expect(facts.head).toMatch(/^[0-9a-f]{40}$/);
    expect(facts.created).toMatch(/^20\d\d-.*Z$/);
    expect(checkFacts(facts).problems).toEqual([]);
  });
});

test('SHA256SUMS lists every other file in the format of sha256sum', async () => {
  await writeFile(join(folder.path, 'b.txt'), 'abc');
  await writeFile(join(folder.path, 'a.txt'), '');
  await writeChecksums(folder.path);
  await writeChecksums(folder.path);
  expect(await readFile(join(folder.path, 'SHA256SUMS'), 'utf8')).toBe(
    'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855  a.txt\n' +
      'ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad  b.txt\n',
  );
  expect(await listArtifacts(folder.path)).toMatchObject([
    { file: 'a.txt', size: 0 },
    { file: 'b.txt', size: 3 },
  ]);
});

test.each([
  ['docker', `1.2.3: digest: ${DIGEST} size: 2212\n`],
  ['helm', `Pushed: registry.example.com/charts/tocsin:1.2.3\nDigest: ${DIGEST}\n`],
])('readDigest reads the output of %s', (_, output) => {
  expect(readDigest(output)).toBe(DIGEST);
});

test('readDigest throws when the push printed no digest', () => {
  expect(() => readDigest('denied: digest: sha256:12')).toThrow('denied');
});

test.each([
  ['127.0.0.1:5000', true],
  ['localhost', true],
  ['localhost:5000/team', true],
  ['127.0.0.1.example.com', false],
  ['localhost.example.com/team', false],
  ['registry.example.com/127.0.0.1', false],
])('isLoopback(%j) is %s', (registry, expected) => {
  expect(isLoopback(registry)).toBe(expected);
});

test('wrongLabels compares the version, the commit, its time and the base', () => {
  const origin = { revision: HEAD, created: '2026-12-01T00:00:00.000Z', base: 'node:24' };
  const labels = {
    'org.opencontainers.image.version': '1.2.3',
    'org.opencontainers.image.revision': HEAD,
    'org.opencontainers.image.created': origin.created,
    'org.opencontainers.image.base.name': 'node:24',
  };
  expect(wrongLabels(labels, '1.2.3', origin)).toEqual([]);
  for (const label of Object.keys(labels))
    expect(wrongLabels({ ...labels, [label]: 'other' }, '1.2.3', origin)).toEqual([
      expect.stringContaining(`its label ${label} is other, not `),
    ]);
  expect(wrongLabels({}, '1.2.3', origin)).toHaveLength(4);
});

describe('inspectChart', () => {
  test('reports symbolic links, files that are not part of the chart, and missing files', async () => {
    const chart = join(folder.path, 'infra/helm/tocsin');
    await mkdir(chart, { recursive: true });
    await writeFile(
      join(chart, 'Chart.yaml'),
      'apiVersion: v2\nname: tocsin\nversion: 1.2.3\nappVersion: 1.2.3\n',
    );
    await writeFile(join(chart, 'README.md'), 'text');
    const other = join(folder.path, 'tocsin');
    await mkdir(other);
    await writeFile(join(other, 'Chart.yaml'), await readFile(join(chart, 'Chart.yaml')));
    await writeFile(join(other, '.env'), 'A=b');
    await symlink('Chart.yaml', join(other, 'link'));
    const tarball = join(folder.path, 'tocsin.tgz');
    await promisify(execFile)('tar', [
      '-czf',
      tarball,
      '-C',
      folder.path,
      'tocsin/Chart.yaml',
      'tocsin/.env',
      'tocsin/link',
    ]);
    expect(await inspectChart(tarball, folder.path, '1.2.3')).toEqual([
      expect.stringMatching(/is not a regular file$/),
      'tocsin/.env is not part of the chart',
      expect.stringMatching(/is not part of the chart$/),
      'tocsin/README.md is missing',
    ]);
  });
});

describe('withNpmConfig', () => {
  const defaults = { 'dry-run': false, 'no-npm': false, folder: null };
  const expected = { dryRun: false, npm: true, folder: null };

  test.each([
    [{}, {}, expected],
    [{ 'dry-run': true }, {}, { ...expected, dryRun: true }],
    [{ 'no-npm': true, folder: 'x' }, {}, { ...expected, npm: false, folder: 'x' }],
    // npm sets these variables if `--` is forgotten.
    [{}, { npm_config_dry_run: 'true' }, { ...expected, dryRun: true }],
    [{}, { npm_config_npm: '' }, { ...expected, npm: false }],
  ])('combines %j with the environment %j', (values, env, options) => {
    expect(withNpmConfig({ ...defaults, ...values }, env)).toEqual(options);
  });
});
