import { parse } from 'yaml';
import { z } from 'zod';
import { messagesOfFailed } from '../failures.ts';
import { CHART } from '../helm.ts';
import { git, readManifests, readRepositoryFile, tryGit } from '../repository.ts';

/** Without build metadata: a `+` is not allowed in the tag of an image. */
const VERSION = /^\d+\.\d+\.\d+(-[0-9A-Za-z.-]+)?$/;
const REGISTRY = /^[a-z0-9][a-z0-9.-]*(:\d+)?(\/[a-z0-9][a-z0-9._-]*)*$/;
const DATE = z.iso.date();

/** The statements of the repository about its next release. */
export interface ReleaseFacts {
  readonly version: string;
  /** Every other statement of the version. */
  readonly statements: readonly { readonly where: string; readonly version: string | undefined }[];
  readonly changelog: string;
  readonly head: string;
  /** When the commit was made. */
  readonly created: string;
  /** The commit that `v<version>` points to. */
  readonly taggedCommit: string | null;
  /** The tags of this commit that start with `v` and a digit. */
  readonly headTags: readonly string[];
  /** Lines of `git status --porcelain`. */
  readonly changes: readonly string[];
  readonly registry: string | undefined;
}

/** @param registry the value of IMAGE_REGISTRY */
export async function readFacts(registry: string | undefined): Promise<ReleaseFacts> {
  const [root, ...manifests] = await readManifests();
  const version = root?.[1].version ?? '';
  const chart = parse(await readRepositoryFile(`${CHART}/Chart.yaml`)) as Partial<Record<string, string>>;
  const [head = '', seconds] = await git('show', '-s', '--format=%H%n%ct', 'HEAD');
  return {
    version,
    statements: [
      ...manifests.map(([where, manifest]) => ({ where, version: manifest.version })),
      ...['version', 'appVersion'].map((key) => ({
        where: `${CHART}/Chart.yaml (${key})`,
        version: chart[key],
      })),
    ],
    changelog: await readRepositoryFile('CHANGELOG.md'),
    head,
    created: new Date(Number(seconds) * 1_000).toISOString(),
    taggedCommit: await tryGit('rev-parse', '--verify', '--quiet', `refs/tags/v${version}^{commit}`),
    headTags: await git('tag', '--points-at', 'HEAD', '--list', 'v[0-9]*'),
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
    problems: messagesOfFailed([
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
    pending: messagesOfFailed([
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

/** A section of CHANGELOG.md: `## Unreleased`, or `## 1.2.3 - 2026-12-01`. */
interface ChangelogSection {
  readonly heading: string;
  /** Null for `Unreleased` and for a malformed heading. */
  readonly release: { readonly version: string; readonly date: string } | null;
  readonly body: string;
}

/** The first section, which describes the version in the work tree. Null without any. */
export function readTopSection(changelog: string): ChangelogSection | null {
  const [, section] = `\n${changelog.replaceAll('\r\n', '\n')}`.split(/^## /m);
  if (section === undefined) return null;
  const [heading = '', ...lines] = section.split('\n').map((line) => line.trimEnd());
  const [, version, date = ''] = /^(\S+) - (\S+)$/.exec(heading) ?? [];
  return {
    heading,
    release: version !== undefined && DATE.safeParse(date).success ? { version, date } : null,
    body: lines.join('\n').trim(),
  };
}
