/*
 * Checks that every package.json, the chart and the changelog state the version of the repository. With a tag, also checks that the version
 * can be released under this tag, and prints the release notes. Run it with `node packages/distribution/check-versions.js [v1.2.3]`.
 */
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const ROOT = new URL('../../', import.meta.url);
const CHART = 'infra/helm/tocsin/Chart.yaml';
/** Without build metadata, because the tag of an image cannot contain a `+`. */
const VERSION = /^\d+\.\d+\.\d+(-[0-9A-Za-z.-]+)?$/;

/** Returns the versions that the files of the repository state, by file, and the text of the changelog. */
export function readVersions() {
  const read = (path) => readFileSync(new URL(path, ROOT), 'utf8');
  const files = execFileSync('git', ['ls-files', 'package.json', '*/package.json'], { cwd: ROOT });
  const manifests = String(files).trim().split('\n');
  const statements = manifests.map((path) => [path, JSON.parse(read(path)).version]);
  for (const [, key, version] of read(CHART).matchAll(/^(version|appVersion): *"?([^"\s]*)/gm))
    statements.push([`${CHART} (${key})`, version]);
  return { version: JSON.parse(read('package.json')).version, statements, changelog: read('CHANGELOG.md') };
}

/**
 * Returns a sentence for each problem, and the first section of the changelog.
 * @param tag undefined before a release. The first section may then be "Unreleased"
 */
export function checkVersions({ version, statements, changelog }, tag) {
  const [, section] = `\n${changelog.replaceAll('\r\n', '\n')}`.split(/^## /m);
  const [heading = '', ...lines] = (section ?? '').split('\n');
  const notes = lines.join('\n').trim();
  const [, released] = /^(\S+) - \d{4}-\d\d-\d\d$/.exec(heading) ?? [];
  const conditions = [
    [VERSION.test(version), `package.json: "${version}" is not a version such as 1.2.3 or 1.2.3-rc.1`],
    ...statements.map(([where, other]) => [
      other === version,
      `${where}: the version is ${other ?? 'missing'}, not ${version}`,
    ]),
    [
      released === version || (tag === undefined && heading === 'Unreleased'),
      `CHANGELOG.md: the first heading is "## ${heading}", not "## ${version} - YYYY-MM-DD"`,
    ],
    [tag === undefined || notes !== '', `CHANGELOG.md: the section "## ${heading}" is empty`],
    [tag === undefined || tag === `v${version}`, `The tag is ${tag}, but the version is ${version}`],
  ];
  return { problems: conditions.flatMap(([isMet, problem]) => (isMet ? [] : [problem])), notes };
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const [, , tag] = process.argv;
  const { problems, notes } = checkVersions(readVersions(), tag);
  for (const problem of problems) process.stderr.write(`${problem}\n`);
  if (problems.length > 0) process.exitCode = 1;
  else if (tag !== undefined) process.stdout.write(`${notes}\n`);
}
