import { describe, expect, test } from '@jest/globals';
import { checkFacts, readFacts, type ReleaseFacts } from '@tocsin/distribution/release/checks';
import { withNpmConfig } from '@tocsin/distribution/release/main';

const HEAD = 'a'.repeat(40);
const CREATED = '2026-12-01T00:00:00.000Z';

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

test.each([
  [{ 'no-npm': true }, {}, { dryRun: false, npm: false }],
  // npm sets these variables if `--` is forgotten.
  [{}, { npm_config_dry_run: 'true' }, { dryRun: true, npm: true }],
  [{}, { npm_config_npm: '' }, { dryRun: false, npm: false }],
])('withNpmConfig combines %j with the environment %j', (values, env, options) => {
  const defaults = { 'dry-run': false, 'no-npm': false, folder: 'x' };
  expect(withNpmConfig({ ...defaults, ...values }, env)).toEqual({ folder: 'x', ...options });
});
