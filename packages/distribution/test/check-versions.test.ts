import { describe, expect, test } from '@jest/globals';
import { ROOT } from '@tocsin/distribution/repository';

interface Versions {
  readonly version: string;
  readonly statements: readonly (readonly [where: string, version: string | undefined])[];
  readonly changelog: string;
}
const { readVersions, checkVersions } = (await import(`${ROOT}packages/distribution/check-versions.js`)) as {
  readVersions: () => Versions;
  checkVersions: (versions: Versions, tag?: string) => { problems: readonly string[]; notes: string };
};

describe('checkVersions', () => {
  const READY: Versions = {
    version: '1.2.3',
    statements: [['packages/cli/package.json', '1.2.3']],
    changelog: '# Changelog\n\n## 1.2.3 - 2026-12-01\n\n- One.\n\n## 1.2.2 - 2026-11-01\n\n- Zero.\n',
  };
  const BUILD = { version: '1.2.3+4', statements: [], changelog: '## 1.2.3+4 - 2026-12-01\n- One.' };

  test('accepts versions that agree, and returns the release notes', () => {
    expect(checkVersions(READY, 'v1.2.3')).toEqual({ problems: [], notes: '- One.' });
    expect(checkVersions({ ...READY, changelog: '## Unreleased\n' }).problems).toEqual([]);
  });

  test.each<[string, Partial<Versions> & { readonly tag?: string }]>([
    ['b/package.json: the version is 1.2.2, not 1.2.3', { statements: [['b/package.json', '1.2.2']] }],
    ['b/package.json: the version is missing', { statements: [['b/package.json', undefined]] }],
    ['package.json: "1.2.3+4" is not a version', { ...BUILD, tag: 'v1.2.3+4' }],
    ['the first heading is "## 1.2.2 - 2026-12-01"', { changelog: '## 1.2.2 - 2026-12-01\n- One.' }],
    ['not "## 1.2.3 - YYYY-MM-DD"', { changelog: '## 1.2.3\n- One.' }],
    ['the first heading is "## "', { changelog: '' }],
    ['the first heading is "## Unreleased"', { changelog: '## Unreleased\n- One.', tag: 'v1.2.3' }],
    ['the section "## 1.2.3 - 2026-12-01" is empty', { changelog: '## 1.2.3 - 2026-12-01\n', tag: 'v1.2.3' }],
    ['The tag is v1.2.4, but the version is 1.2.3', { tag: 'v1.2.4' }],
  ])('reports: %s', (problem, { tag, ...change }) => {
    expect(checkVersions({ ...READY, ...change }, tag).problems).toEqual([expect.stringContaining(problem)]);
  });

  test('finds every version of this repository, and they agree', () => {
    const versions = readVersions();
    expect(versions.statements.map(([where]) => where)).toEqual(
      expect.arrayContaining([
        'packages/cli/package.json',
        'services/api/package.json',
        'infra/helm/tocsin/Chart.yaml (version)',
        'infra/helm/tocsin/Chart.yaml (appVersion)',
      ]),
    );
    expect(checkVersions(versions).problems).toEqual([]);
  });
});
