import { parse } from 'yaml';
import { failuresOf } from '../failures.ts';
import { readRepositoryFile, ROOT } from '../repository.ts';
import { runTool } from '../run-tool.ts';

const CHART = 'infra/helm/tocsin/Chart.yaml';
/** Without build metadata: a `+` is not allowed in the tag of an image. */
const VERSION = /^\d+\.\d+\.\d+(-[0-9A-Za-z.-]+)?$/;
const REGISTRY = /^[a-z0-9][a-z0-9.-]*(:\d+)?(\/[a-z0-9][a-z0-9._-]*)*$/;

/** What the repository states about its next release. */
export interface ReleaseFacts {
  /** Of the root's package.json. */
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
  const { version = '' } = await readManifest('package.json');
  const manifests = await git('ls-files', ':(glob)packages/*/package.json', ':(glob)services/*/package.json');
  const chart = parse(await readRepositoryFile(CHART)) as { version?: string; appVersion?: string };
  const [head = '', seconds] = await git('show', '-s', '--format=%H%n%ct', 'HEAD');
  return {
    version,
    statements: [
      ...(await Promise.all(
        manifests.map(async (where) => ({ where, version: (await readManifest(where)).version })),
      )),
      { where: `${CHART} (version)`, version: chart.version },
      { where: `${CHART} (appVersion)`, version: chart.appVersion },
    ],
    changelog: await readRepositoryFile('CHANGELOG.md'),
    head,
    created: new Date(Number(seconds) * 1_000).toISOString(),
    taggedCommit: await git('rev-parse', '--verify', '--quiet', `refs/tags/v${version}^{commit}`).then(
      ([commit]) => commit ?? null,
      () => null,
    ),
    headTags: await git('tag', '--points-at', 'HEAD', '--list', 'v[0-9]*'),
    changes: await git('status', '--porcelain'),
    registry: registry === '' ? undefined : registry,
  };
}

/** What prevents a release. */
export interface ReleaseChecks {
  /** The sources contradict each other. Nothing can be built from them. */
  readonly problems: string[];
  /** What has to be done before a release. A dry run reports it and continues. */
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

/** A section of CHANGELOG.md: `## Unreleased`, or `## 1.2.3 - 2026-12-01`. */
export interface ChangelogSection {
  readonly heading: string;
  /** Null for `Unreleased` and for a malformed heading. */
  readonly release: { readonly version: string; readonly date: string } | null;
  /** Without the heading and the blank lines around it. */
  readonly body: string;
}

/** The first section, which describes the version in the work tree. Null without any. */
export function readTopSection(changelog: string): ChangelogSection | null {
  const [, section] = `\n${changelog.replaceAll('\r\n', '\n')}`.split(/^## /m);
  if (section === undefined) return null;
  const [heading = '', ...lines] = section.split('\n');
  const [, version, date] = /^(\S+) - (\d{4}-\d{2}-\d{2})$/.exec(heading.trim()) ?? [];
  return {
    heading: heading.trim(),
    release: version !== undefined && date !== undefined && isDate(date) ? { version, date } : null,
    body: lines.join('\n').trim(),
  };
}

function isDate(text: string): boolean {
  const date = new Date(`${text}T00:00:00Z`);
  return !Number.isNaN(date.getTime()) && date.toISOString().startsWith(text);
}

async function readManifest(path: string): Promise<{ readonly version?: string }> {
  return JSON.parse(await readRepositoryFile(path)) as { version?: string };
}

/** The lines of the output without empty ones. */
async function git(...args: string[]): Promise<string[]> {
  const { stdout } = await runTool('git', args, { cwd: ROOT });
  return stdout
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '');
}
