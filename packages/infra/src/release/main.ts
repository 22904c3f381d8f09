import { mkdir, readdir, rm, writeFile } from 'node:fs/promises';
import { basename, join, resolve } from 'node:path';
import { UsageError } from '@tocsin/embedded/program/run-program';
import { openFolder, type Teardown } from '@tocsin/embedded/program/teardown';
import { runCommand, say } from '@tocsin/lab/command';
import { flag, text, type ValuesOf } from '@tocsin/lab/options';
import { packCli } from '../cli-package/main.ts';
import { ensureBaseImages, readBaseImages } from '../containers/base-images.ts';
import { openEngine, type Engine } from '../containers/engine.ts';
import { buildImages } from '../containers/images.ts';
import { messagesOfFailed } from '../failures.ts';
import { packageChart } from '../helm.ts';
import { copyWorkTree } from '../repository.ts';
import { markdownTable, orUnavailable } from '@tocsin/lab/rollout/command';
import { runTool } from '../run-tool.ts';
import {
  collectImages,
  type ImageOrigin,
  inspectChart,
  isLoopback,
  isStandIn,
  listArtifacts,
  pushChart,
  pushImage,
  type ReleaseImage,
  writeChecksums,
} from './artifacts.ts';
import { checkFacts, readFacts, readTopSection, type ReleaseChecks } from './checks.ts';

const ABOUT = `Builds, checks and publishes the images, the chart and the npm package of this version (docs/releasing.md).
IMAGE_REGISTRY names the registry that gets the images and the chart.`;
const OPTIONS = {
  'dry-run': flag('publishes nothing'),
  'no-npm': flag('does not publish the npm package'),
  folder: text(
    'folder for the release; must be empty; by default .data/release/VERSION, which is replaced',
    'FOLDER',
  ),
};

/**
 * `npm run release`. Exits with 1 if the release has problems, and with 2 if no Docker engine can be used.
 * @public called by `bootstrap.js`
 */
export function main(args: readonly string[]): Promise<void> {
  const run = async (values: ValuesOf<typeof OPTIONS>, teardown: Teardown): Promise<number> => {
    const { problems, pending } = await release(withNpmConfig(values, process.env), teardown);
    for (const line of pending) say(`Before the release: ${line}`);
    for (const problem of problems) say(`PROBLEM: ${problem}`);
    return problems.length === 0 ? 0 : 1;
  };
  return runCommand(args, { name: 'release', about: ABOUT, options: OPTIONS, run: orUnavailable(run) });
}

/** Without `--`, npm consumes the options. Ignoring them would publish what the user did not want to publish. */
export function withNpmConfig(
  values: ValuesOf<typeof OPTIONS>,
  env: NodeJS.ProcessEnv,
): { dryRun: boolean; npm: boolean; folder: string | null } {
  const dryRun = values['dry-run'] || env['npm_config_dry_run'] === 'true';
  const npm = !values['no-npm'] && env['npm_config_npm'] === undefined;
  return { dryRun, npm, folder: values.folder };
}

/** Publishes nothing if it finds a problem. */
async function release(
  options: ReturnType<typeof withNpmConfig>,
  teardown: Teardown,
): Promise<ReleaseChecks> {
  const facts = await readFacts(process.env['IMAGE_REGISTRY']);
  const { version, created } = facts;
  const { problems, pending } = checkFacts(facts);
  if (!options.dryRun) problems.push(...pending.splice(0));
  if (problems.length > 0) return { problems, pending };

  // Open this first: its sweeper ends everything that starts later, however this program ends.
  const temporary = await openFolder('release', teardown);
  const engine = await openEngine(teardown);
  const folder = await openReleaseFolder(options.folder, version);
  const source = join(temporary, 'source');
  await copyWorkTree(source);
  const tarball = await packageChart(folder);
  const cli = await packCli(folder);
  const bases = await readBaseImages();
  await ensureBaseImages(engine, bases, ['node']);
  const base = bases.node;
  const naming = { registry: facts.registry ?? 'localhost', version };
  const revision = facts.changes.length > 0 ? `${facts.head}-dirty` : facts.head;
  const origin: ImageOrigin = { revision, created, base };
  say(`Building the images of ${version} …`);
  await buildImages(engine, source, naming, { TOCSIN_REVISION: revision, TOCSIN_CREATED: created });
  say('Inspecting the images …');
  const { images, problems: defects } = await collectImages(engine, naming, origin, folder, temporary);
  problems.push(
    ...defects,
    ...(await inspectChart(tarball, source, version)).map((problem) => `chart: ${problem}`),
    ...messagesOfFailed([
      [cli.endsWith(`-${version}.tgz`), `npm package: ${basename(cli)} is not of version ${version}`],
    ]),
  );
  if (images.some(isStandIn) && !isLoopback(facts.registry ?? ''))
    (options.dryRun ? pending : problems).push(`images: ${base} is a stand-in here. Build on the real image`);
  if (problems.length > 0) return { problems, pending };

  const { registry } = naming;
  const published = options.dryRun ? { images } : await publish(engine, images, tarball, registry);
  // Throws if the program is shutting down.
  await teardown.start(Promise.resolve(), () => Promise.resolve());
  await writeFile(join(folder, 'RELEASE-NOTES.md'), `${readTopSection(facts.changelog)?.body ?? ''}\n`);
  const artifacts = await listArtifacts(folder);
  const manifest = { version, revision, created, ...published, artifacts };
  await writeFile(join(folder, 'release.json'), `${JSON.stringify(manifest, null, 2)}\n`);
  await writeChecksums(folder);
  // Last, because npm accepts each version only once.
  if (!options.dryRun && options.npm) await publishCli(cli, version);
  const table = markdownTable([
    ['artifact', 'size', 'digest, id or SHA-256'],
    ...published.images.map(({ reference, size, id, digest }) => [reference, megabytes(size), digest ?? id]),
    ...artifacts.map(({ file, size, sha256 }) => [file, megabytes(size), sha256]),
  ]);
  say(`\n${table}\n\n${folder}`);
  return { problems, pending };
}

/** The folder that the release goes into, empty. */
async function openReleaseFolder(given: string | null, version: string): Promise<string> {
  const folder = resolve(given ?? join(process.env['DATA_DIR'] ?? '.data', 'release', version));
  if (given === null) await rm(folder, { recursive: true, force: true });
  await mkdir(folder, { recursive: true });
  if ((await readdir(folder)).length > 0) throw new UsageError(`${folder} is not empty`);
  return folder;
}

async function publish(engine: Engine, images: readonly ReleaseImage[], tarball: string, registry: string) {
  const pushed: ReleaseImage[] = [];
  for (const image of images) {
    pushed.push(await pushImage(engine, image));
    say(`Pushed ${image.reference}`);
  }
  const chart = await pushChart(tarball, registry);
  say('Pushed the chart');
  return { images: pushed, chart };
}

async function publishCli(tarball: string, version: string): Promise<void> {
  // Without a tag of its own, npm would install a pre-release by default.
  const tag = version.includes('-') ? 'next' : 'latest';
  await runTool('npm', ['publish', tarball, '--tag', tag, '--loglevel', 'error']);
  say(`Published ${basename(tarball)}`);
}

function megabytes(bytes: number): string {
  return `${(bytes / 1e6).toFixed(bytes < 1e7 ? 2 : 0)} MB`;
}
