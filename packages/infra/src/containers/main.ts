import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { runProgram, UsageError } from '@tocsin/embedded/program/run-program';
import type { Teardown } from '@tocsin/embedded/program/teardown';
import { readRepositoryFile } from '../repository.ts';
import { problemsOf, readFindings, type Findings } from '../rollout/findings.ts';
import { Load, type LoadOptions } from '../rollout/load.ts';
import { createMonitor, followReadme } from '../rollout/story.ts';
import { ensureBaseImages, readBaseImages } from './base-images.ts';
import { ComposeSystem } from './compose-system.ts';
import { NoEngineError, openEngine, type Engine } from './engine.ts';
import { inspectHardening } from './hardening.ts';
import { IMAGES, inspectImage, type ImageNaming } from './images.ts';
import { copyCommit, copyWorkTree, findPreviousCommit } from './source-copy.ts';

const SERVICES = ['api', 'notifier', 'checker-eu', 'checker-us'];
const CURRENT: ImageNaming = { registry: 'localhost', version: 'test' };
const PREVIOUS: ImageNaming = { registry: 'localhost', version: 'previous' };
const BUILD_SECONDS = 1_800;
const NO_ENGINE = 2;

const HELP = `npm run test:containers -- [options]

Builds every image, runs docker-compose.yml with them, and tests the whole of it (docs/reliability.md).

  --rate NUMBER       checks per second during the upgrade and the kills (default 500)
  --interval NUMBER   of each monitor, seconds (default 10)
  --previous COMMIT   what to upgrade from (default: the last release, else the commit before the last migration)
  --json FILE         writes the results there`;

/**
 * `npm run test:containers`. Exits with 2 where no Docker engine can be used.
 * @public called by `bootstrap.js`
 */
export async function main(args: readonly string[]): Promise<void> {
  await runProgram(async (teardown) => {
    const options = parseOptions(args);
    if (options === null) {
      say(HELP);
      return 0;
    }
    try {
      const results = await run(options, teardown);
      say(`\n${tableOf(results)}`);
      if (options.json !== undefined) await writeFile(options.json, `${JSON.stringify(results, null, 2)}\n`);
      for (const problem of results.problems) say(`PROBLEM: ${problem}`);
      return results.problems.length === 0 ? 0 : 1;
    } catch (error) {
      if (!(error instanceof NoEngineError)) throw error;
      say(error.message);
      return NO_ENGINE;
    }
  });
}

interface Options extends LoadOptions {
  readonly previous: string | undefined;
  readonly json: string | undefined;
}

/** Null for `--help`. */
function parseOptions(args: readonly string[]): Options | null {
  try {
    const { values } = parseArgs({
      args: [...args],
      options: {
        help: { type: 'boolean' },
        rate: { type: 'string', default: '500' },
        interval: { type: 'string', default: '10' },
        previous: { type: 'string' },
        json: { type: 'string' },
      },
    });
    if (values.help === true) return null;
    const [rate, interval] = [Number(values.rate), Number(values.interval)];
    if (!Number.isInteger(rate) || rate < 10 || !Number.isInteger(interval) || interval < 5)
      throw new UsageError('--rate takes a whole number from 10, --interval one from 5');
    if (rate * interval > 10_000) throw new UsageError('--rate times --interval is at most 10000 monitors');
    return { rate, interval, previous: values.previous, json: values.json };
  } catch (error) {
    throw new UsageError(error instanceof Error ? error.message : String(error));
  }
}

/** Rows of a table, and what went wrong. */
interface Results {
  readonly rows: [string, string][];
  readonly problems: string[];
}

async function run(options: Options, teardown: Teardown): Promise<Results> {
  const results: Results = { rows: [], problems: [] };
  const engine = await openEngine(teardown, say);
  const bases = await readBaseImages();
  const standIns = await ensureBaseImages(engine, bases, say);
  const version = (await engine.docker(['version', '--format', '{{.Server.Version}}'])).trim();
  results.rows.push(['Docker engine; stand-ins', `${version}; ${standIns.join(', ') || 'none'}`]);

  const folder = await teardown.start(mkdtemp(join(tmpdir(), 'tocsin containers ')), (path) =>
    rm(path, { recursive: true, force: true }),
  );
  await copyWorkTree(join(folder, 'current'));
  await buildImages(engine, folder, options, results);
  for (const name of IMAGES) {
    const { addedBytes, problems } = await inspectImage(engine, name, CURRENT, bases.node, folder);
    results.rows.push([`${name} adds to its base`, `${(addedBytes / 1e6).toFixed(0)} MB`]);
    results.problems.push(...problems.map((problem) => `image ${name}: ${problem}`));
  }
  const common = { engine, folder: join(folder, 'current'), nodeImage: bases.node };
  const fresh = await ComposeSystem.prepare(
    { ...common, project: 'tocsin-test-fresh', images: CURRENT },
    CURRENT,
    teardown,
  );
  await tryFresh(engine, fresh, results);
  await fresh.remove();
  const upgraded = await ComposeSystem.prepare(
    { ...common, project: 'tocsin-test-upgrade', images: PREVIOUS },
    CURRENT,
    teardown,
  );
  await tryUnderLoad(upgraded, options, results);
  return results;
}

async function buildImages(
  engine: Engine,
  folder: string,
  { previous }: Options,
  results: Results,
): Promise<void> {
  const build = async (source: string, naming: ImageNaming, profiles: string[]): Promise<number> => {
    const before = performance.now();
    await engine.docker(['compose', ...profiles, 'build'], {
      cwd: join(folder, source),
      // Building needs none of the secrets that the file requires.
      env: {
        IMAGE_REGISTRY: naming.registry,
        TOCSIN_VERSION: naming.version,
        POSTGRES_PASSWORD: 'x',
        REDIS_PASSWORD: 'x',
        SECRETS_KEY: 'x',
      },
      timeoutSeconds: BUILD_SECONDS,
    });
    return performance.now() - before;
  };
  say('Building the images …');
  results.rows.push(['all images built', seconds(await build('current', CURRENT, ['--profile', 'cli']))]);
  const commit = previous ?? (await findPreviousCommit());
  say(`Building the images of ${commit.slice(0, 12)} …`);
  await copyCommit(commit, join(folder, 'previous'));
  // An older Dockerfile can need a registry, and an older Compose file names its images otherwise.
  for (const file of ['Dockerfile', 'docker-compose.yml'])
    await writeFile(join(folder, 'previous', file), await readFile(join(folder, 'current', file)));
  results.rows.push([
    `images of ${commit.slice(0, 12)} built`,
    seconds(await build('previous', PREVIOUS, [])),
  ]);
}

/** The README's command in an empty folder, its story, and the way each service runs and stops. */
async function tryFresh(engine: Engine, system: ComposeSystem, results: Results): Promise<void> {
  const commands = await readDockerCommands();
  say(`Running the commands of the README:\n${commands}`);
  const before = performance.now();
  await system.shell(commands);
  results.rows.push(['README command, until every service is healthy', seconds(performance.now() - before)]);
  await system.join();
  await createMonitor(system);
  results.rows.push([
    'until a monitor is UP through the published port',
    seconds(performance.now() - before),
  ]);
  say('Following the README …');
  await followReadme(system);
  for (const service of SERVICES) results.problems.push(...(await inspectHardening(engine, system, service)));
  say('Stopping and starting each container …');
  for (const part of await system.parts()) await system.replace(part);
  const times = [...system.stopTimes].map(([part, ms]) => `${part} ${seconds(ms)}`);
  results.rows.push(['from SIGTERM to exit code 0', times.join(', ')]);
  await createMonitor(system);
}

/** An upgrade, then a kill of each container, while monitors are checked and alert all the time. */
async function tryUnderLoad(system: ComposeSystem, options: Options, results: Results): Promise<void> {
  say('Starting the previous images …');
  await system.shell((await readDockerCommands()).split('docker compose up')[0] ?? '');
  await system.up();
  await system.join();
  const load = await Load.start(system, options);
  await load.flap();
  say(`${options.rate} checks per second. Upgrading …`);
  const intervalMs = options.interval * 1_000;
  let from = Date.now();
  await load.checkOnce();
  await system.upgrade();
  await load.checkOnce();
  await report('upgrade', { from, to: Date.now() - intervalMs });

  from = Date.now();
  await load.flap();
  for (const part of await system.parts()) {
    say(`Killing ${part} …`);
    await system.kill(part);
    await load.checkOnce();
  }
  await report('kills', { from, to: Date.now() - intervalMs }, true);

  async function report(
    name: string,
    span: { readonly from: number; readonly to: number },
    mayMiss = false,
  ): Promise<void> {
    await load.settle();
    const findings = await readFindings(system, load, span);
    results.rows.push(...rowsOf(name, findings));
    results.problems.push(...problemsOf(findings, { mayMiss }).map((problem) => `${name}: ${problem}`));
  }
}

function rowsOf(name: string, findings: Findings): [string, string][] {
  const { slots, missed, repeated, latestMs, falseDown, webhooks, repeatedWebhooks, lost } = findings;
  return [
    [`${name}: seconds; slots; missed; repeated`, list(findings.seconds, slots, missed, repeated)],
    [`${name}: latest check; false DOWN`, `${seconds(latestMs)}; ${falseDown}`],
    [`${name}: webhooks so far; repeated; lost`, list(webhooks, repeatedWebhooks, lost)],
    [`${name}: monitors with other webhooks than due`, String(findings.inconsistent.length)],
  ];
}

/** The commands of the README that start Tocsin with Docker, as a reader copies them. */
async function readDockerCommands(): Promise<string> {
  const blocks = (await readRepositoryFile('README.md')).matchAll(/^```\n(.*?)^```$/gms);
  for (const [, text = ''] of blocks) if (text.includes('docker compose up')) return text;
  throw new Error('README.md has no command with `docker compose up`');
}

function tableOf({ rows }: Results): string {
  return [
    '| what | result |',
    '| --- | --- |',
    ...rows.map(([what, result]) => `| ${what} | ${result} |`),
  ].join('\n');
}

function list(...numbers: number[]): string {
  return numbers.map((number) => Math.round(number).toLocaleString('en-US')).join('; ');
}

function seconds(ms: number): string {
  return `${(ms / 1_000).toFixed(1)} s`;
}

function say(line: string): void {
  process.stdout.write(`${line}\n`);
}
