import { parse } from 'yaml';
import { failuresOf } from '../failures.ts';
import { CHART } from '../helm.ts';
import { git, readManifests, readRepositoryFile, tryGit } from '../repository.ts';

/** Without build metadata: a `+` is not allowed in the tag of an image. */
const VERSION = /^\d+\.\d+\.\d+(-[0-9A-Za-z.-]+)?$/;
const REGISTRY = /^[a-z0-9][a-z0-9.-]*(:\d+)?(\/[a-z0-9][a-z0-9._-]*)*$/;

/** The statements of the repository about its next release. */
export type ReleaseFacts = Awaited<ReturnType<typeof readFacts>>;

/** @param registry the value of IMAGE_REGISTRY */
export async function readFacts(registry: string | undefined) {
  const [root, ...manifests] = await readManifests();
  const version = root?.[1].version ?? '';
  const chart = parse(await readRepositoryFile(`${CHART}/Chart.yaml`)) as Partial<Record<string, string>>;
  const [head = '', seconds] = await git('show', '-s', '--format=%H%n%ct', 'HEAD');
  return {
    version,
    /** Every other statement of the version. */
    statements: [
      ...manifests.map(([where, manifest]) => ({ where, version: manifest.version })),
      ...['version', 'appVersion'].map((key) => ({
        where: `${CHART}/Chart.yaml (${key})`,
        version: chart[key],
      })),
    ],
    changelog: await readRepositoryFile('CHANGELOG.md'),
    head,
    /** When the commit was made. */
    created: new Date(Number(seconds) * 1_000).toISOString(),
    /** The commit that `v<version>` points to. */
    taggedCommit: await tryGit('rev-parse', '--verify', '--quiet', `refs/tags/v${version}^{commit}`),
    /** The tags of this commit that start with `v` and a digit. */
    headTags: await git('tag', '--points-at', 'HEAD', '--list', 'v[0-9]*'),
    /** Lines of `git status --porcelain`. */
    changes: await git('status', '--porcelain'),
    registry: registry || undefined,
  };
}

/** The obstacles to a release. */
export interface ReleaseChecks {
  /** The sources contradict each other. Nothing can be built from them. */
  readonly problems: string[];
  /** Steps to do before a release. A dry run reports them and continues. */
  readonly pending: string[];
}

export function checkFacts(facts: ReleaseFacts): ReleaseChecks {
  const { version, head, taggedCommit, headTags, changes, registry } = facts;
  const tag = `v${version}`;
  const section = readTopSection(facts.changelog);
  const heading = section?.heading ?? '';
  const isUnreleased = heading === 'Unreleased';
  const expectedHeading = `"## ${version} - YYYY-MM-DD"`;
  const released = section?.release?.version;
  return {
    problems: failuresOf([
      [VERSION.test(version), `package.json: "${version}" is not a version such as 1.2.3 or 1.2.3-rc.1`],
      ...facts.statements.map(
        ({ where, version: other }) =>
          [other === version, `${where}: the version is ${other ?? 'missing'}, not ${version}`] as const,
      ),
      [section !== null, 'CHANGELOG.md: there is no section'],
      [
        section === null || isUnreleased || released !== undefined,
        `CHANGELOG.md: the first heading is "## ${heading}", not ${expectedHeading}`,
      ],
      [
        released === undefined || released === version,
        `CHANGELOG.md: the first section is about ${released}, not ${version}`,
      ],
      [
        registry === undefined || REGISTRY.test(registry),
        `IMAGE_REGISTRY: "${registry}" is not a registry such as registry.example.com/team`,
      ],
    ]),
    pending: failuresOf([
      [!isUnreleased, `CHANGELOG.md: rename the section "## Unreleased" to ${expectedHeading}`],
      [section?.body !== '', `CHANGELOG.md: the section "## ${heading}" is empty`],
      [
        taggedCommit === null || taggedCommit === head,
        `git: the tag ${tag} belongs to another commit, ${taggedCommit?.slice(0, 12)}`,
      ],
      ...headTags.map(
        (other) =>
          [other === tag, `git: this commit is tagged ${other}, but its version is ${version}`] as const,
      ),
      [changes.length === 0, `git: ${changes.length} uncommitted changes: ${changes.join(', ')}`],
      [registry !== undefined, 'IMAGE_REGISTRY is not set. It names the registry to push to'],
    ]),
  };
}

/**
 * The first section of CHANGELOG.md, which describes the version in the work tree: `## Unreleased`, or `## 1.2.3 - 2026-12-01`.
 * @returns `release` is null for `Unreleased` and for a malformed heading; null without a section
 */
export function readTopSection(changelog: string) {
  const [, section] = `\n${changelog.replaceAll('\r\n', '\n')}`.split(/^## /m);
  if (section === undefined) return null;
  const [heading = '', ...lines] = section.split('\n').map((line) => line.trimEnd());
  const [, version, date] = /^(\S+) - (\d{4}-\d{2}-\d{2})$/.exec(heading) ?? [];
  return {
    heading,
    release: version !== undefined && date !== undefined && isDate(date) ? { version, date } : null,
    body: lines.join('\n').trim(),
  };
}

function isDate(text: string): boolean {
  const date = new Date(`${text}T00:00:00Z`);
  return !Number.isNaN(date.getTime()) && date.toISOString().startsWith(text);
}
