import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { createTemporaryFolder } from '@tocsin/embedded/testing/temporary-folder';
import {
  isLoopback,
  listArtifacts,
  readDigest,
  writeChecksums,
  wrongLabels,
} from '@tocsin/infra/release/artifacts';
import { checkFacts, readFacts, type ReleaseFacts } from '@tocsin/infra/release/checks';
import { withNpmConfig } from '@tocsin/infra/release/main';
import { runTool } from '@tocsin/infra/run-tool';

const HEAD = 'a'.repeat(40);
const CREATED = '2026-12-01T00:00:00.000Z';

let folder: Awaited<ReturnType<typeof createTemporaryFolder>>;
beforeEach(async () => {
  folder = await createTemporaryFolder();
});
afterEach(() => folder.remove());

describe('a release', () => {
  const READY: ReleaseFacts = {
    version: '1.2.3',
    statements: [{ where: 'packages/cli/package.json', version: '1.2.3' }],
    changelog: '# Changelog\n\n## 1.2.3 - 2026-12-01\n\n- One.\n',
    head: HEAD,
    created: CREATED,
    taggedCommit: HEAD,
    headTags: ['v1.2.3'],
    changes: [],
    registry: 'registry.example.com:5000/team',
  };
  const BUILD = { version: '1.2.3+4', changelog: '## 1.2.3+4 - 2026-12-01\n- One.' };

  test('is ready when every statement agrees, with or without a tag', () => {
    expect(checkFacts(READY)).toEqual({ problems: [], pending: [] });
    expect(checkFacts({ ...READY, taggedCommit: null, headTags: [] })).toEqual({ problems: [], pending: [] });
  });

  test.each<[string, Partial<ReleaseFacts>]>([
    ['the version is 1.2.2, not 1.2.3', { statements: [{ where: 'b/package.json', version: '1.2.2' }] }],
    ['package.json: "1.2.3+4" is not a version', { ...BUILD, statements: [], headTags: [] }],
    ['the first section is about 1.2.2, not 1.2.3', { changelog: '## 1.2.2 - 2026-12-01\n- One.' }],
    ['"## 1.2.3", not "## 1.2.3 - YYYY-MM-DD"', { changelog: '## 1.2.3\n- One.' }],
    ['CHANGELOG.md: there is no section', { changelog: '' }],
    ['"https://images.example.com" is not a registry', { registry: 'https://images.example.com' }],
  ])('cannot be built: %s', (problem, change) => {
    const found = checkFacts({ ...READY, ...change });
    expect(found).toEqual({ problems: [expect.stringContaining(problem)], pending: [] });
  });

  test.each<[string, Partial<ReleaseFacts>]>([
    ['rename the section "## Unreleased" to "## 1.2.3 -', { changelog: '## Unreleased\n- One.' }],
    ['the section "## 1.2.3 - 2026-12-01" is empty', { changelog: '## 1.2.3 - 2026-12-01\n' }],
    ['the tag v1.2.3 belongs to another commit', { taggedCommit: 'b'.repeat(40), headTags: [] }],
    ['tagged v1.2.4, but its version is 1.2.3', { taggedCommit: null, headTags: ['v1.2.4'] }],
    ['2 uncommitted changes: M README.md, ?? a', { changes: ['M README.md', '?? a'] }],
    ['IMAGE_REGISTRY is not set', { registry: undefined }],
  ])('can be built, but not published: %s', (line, change) => {
    const found = checkFacts({ ...READY, ...change });
    expect(found).toEqual({ problems: [], pending: [expect.stringContaining(line)] });
  });

  test('can be built from this repository', async () => {
    const facts = await readFacts('registry.example.com');
    expect(facts.statements.map(({ where }) => where)).toEqual(
      expect.arrayContaining(['packages/cli/package.json', 'services/api/package.json']),
    );
    expect(checkFacts(facts).problems).toEqual([]);
  });
});

test('SHA256SUMS lists every other file in the format of sha256sum', async () => {
  await writeFile(join(folder.path, 'b.txt'), 'abc');
  await writeFile(join(folder.path, 'a.txt'), '');
  await writeChecksums(folder.path);
  await writeChecksums(folder.path);
  const { stdout } = await runTool('sha256sum', ['--check', 'SHA256SUMS'], { cwd: folder.path });
  expect(stdout).toBe('a.txt: OK\nb.txt: OK\n');
  expect(await listArtifacts(folder.path)).toMatchObject([
    { file: 'a.txt', size: 0 },
    { file: 'b.txt', size: 3 },
  ]);
});

test('readDigest reads the output of docker and helm, and throws it if there is no digest', () => {
  const digest = `sha256:${'0'.repeat(64)}`;
  expect(readDigest(`1.2.3: digest: ${digest} size: 2212\n`)).toBe(digest);
  expect(readDigest(`Pushed: registry.example.com/charts/tocsin:1.2.3\nDigest: ${digest}\n`)).toBe(digest);
  expect(() => readDigest('denied: digest: sha256:12')).toThrow('denied');
});

test.each([
  ['127.0.0.1:5000', true],
  ['localhost:5000/team', true],
  ['localhost.example.com/team', false],
])('isLoopback(%j) is %s', (registry, expected) => {
  expect(isLoopback(registry)).toBe(expected);
});

test('wrongLabels compares the version, the commit, its time and the base', () => {
  const origin = { revision: HEAD, created: CREATED, base: 'node:24' };
  const values = { version: '1.2.3', revision: HEAD, created: CREATED, 'base.name': 'node:24' };
  const labels = Object.fromEntries(
    Object.entries(values).map(([name, value]) => [`org.opencontainers.image.${name}`, value]),
  );
  expect(wrongLabels(labels, '1.2.3', origin)).toEqual([]);
  const others = Object.fromEntries(Object.keys(labels).map((label) => [label, 'other']));
  expect(wrongLabels(others, '1.2.3', origin)).toEqual(
    Object.keys(labels).map((label): unknown => expect.stringContaining(`its label ${label} is other, not `)),
  );
});

test.each([
  [{ 'no-npm': true }, {}, { dryRun: false, npm: false }],
  // npm sets these variables if `--` is forgotten.
  [{}, { npm_config_dry_run: 'true' }, { dryRun: true, npm: true }],
  [{}, { npm_config_npm: '' }, { dryRun: false, npm: false }],
])('withNpmConfig combines %j with the environment %j', (values, env, options) => {
  const defaults = { 'dry-run': false, 'no-npm': false, folder: 'x' };
  expect(withNpmConfig({ ...defaults, ...values }, env)).toEqual({ folder: 'x', ...options });
});
