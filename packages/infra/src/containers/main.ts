import { copyFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { runProgram } from '@tocsin/embedded/program/run-program';
import { openFolder } from '@tocsin/embedded/program/teardown';
import type { Teardown } from '@tocsin/embedded/program/teardown';
import { copyCommit, copyWorkTree, findPreviousCommit, readCommands } from '../repository.ts';
import { inspectHardening } from '../rollout/deployed-system.ts';
import { disturbUnderLoad, Results, seconds } from '../rollout/findings.ts';
import {
  Load,
  LOAD_HELP,
  LOAD_OPTIONS,
  type LoadOptions,
  parseCommandLine,
  parseLoadOptions,
} from '../rollout/load.ts';
import { createMonitor, followReadme } from '../rollout/story.ts';
import { ensureBaseImages, readBaseImages } from './base-images.ts';
import { ComposeSystem } from './compose-system.ts';
import { type Engine, NoEngineError, openEngine } from './engine.ts';
import { buildImages, type ImageNaming, IMAGES, inspectImage } from './images.ts';

const SERVICES = ['api', 'notifier', 'checker-eu', 'checker-us'];
const CURRENT: ImageNaming = { registry: 'localhost', version: 'test' };
const PREVIOUS: ImageNaming = { registry: 'localhost', version: 'previous' };
/** The command of the README that starts Tocsin with Docker. */
const START = 'docker compose up';
/** Of all slots while each part was killed once. */
const MAX_MISSED_SHARE_AFTER_KILLS = 0.02;
const NO_ENGINE = 2;

const HELP = `npm run test:containers -- [options]

Builds every image, runs docker-compose.yml with them, and tests the whole of it (docs/reliability.md).

${LOAD_HELP}
  --previous COMMIT   what to upgrade from (default: the last release, else the commit before the last migration)`;

/**
 * `npm run test:containers`. Exits with 2 where no Docker engine can be used.
 * @public called by `bootstrap.js`
 */
export async function main(args: readonly string[]): Promise<void> {
  await runProgram(async (teardown) => {
    const values = parseCommandLine(args, {
      ...LOAD_OPTIONS,
      help: { type: 'boolean' },
      previous: { type: 'string' },
      json: { type: 'string' },
    });
    if (values.help === true) {
      say(HELP);
      return 0;
    }
    const load = parseLoadOptions(values);
    try {
      const results = new Results();
      const previous = values.previous ?? (await findPreviousCommit());
      // Open this first: its sweeper ends everything that starts later, however this program ends.
      const folder = await openFolder('containers', teardown);
      const engine = await openEngine(teardown, say);
      await run(engine, folder, load, previous, results, teardown);
      say(`\n${results.toString()}`);
      if (values.json !== undefined) await writeFile(values.json, `${JSON.stringify(results, null, 2)}\n`);
      return results.problems.length === 0 ? 0 : 1;
    } catch (error) {
      if (!(error instanceof NoEngineError)) throw error;
      say(error.message);
      return NO_ENGINE;
    }
  });
}

async function run(
  engine: Engine,
  folder: string,
  loadOptions: LoadOptions,
  previous: string,
  results: Results,
  teardown: Teardown,
): Promise<void> {
  const bases = await readBaseImages();
  const standIns = await ensureBaseImages(engine, bases, say);
  const version = (await engine.docker(['version', '--format', '{{.Server.Version}}'])).trim();
  results.add('Docker engine; stand-ins', `${version}; ${standIns.join(', ') || 'none'}`);

  // A path with a space, as users have them.
  const current = join(folder, 'new clone');
  await copyWorkTree(current);
  say('Building the images …');
  results.add('all images built', seconds(await build(engine, current, CURRENT)));
  for (const name of IMAGES) {
    const { addedBytes, problems } = await inspectImage(engine, name, CURRENT, bases.node, folder);
    results.add(`${name} adds to its base`, `${(addedBytes / 1e6).toFixed(0)} MB`);
    results.problems.push(...problems.map((problem) => `image ${name}: ${problem}`));
  }
  await buildPrevious(engine, current, previous, results);

  const prepare = (project: string, images: ImageNaming): Promise<ComposeSystem> =>
    ComposeSystem.prepare(
      { engine, folder: current, nodeImage: bases.node, project, images },
      CURRENT,
      teardown,
    );
  const fresh = await prepare('tocsin-test-fresh', CURRENT);
  await startAsNewcomer(fresh, results);
  await fresh.remove();
  await disturb(await prepare('tocsin-test-upgrade', PREVIOUS), loadOptions, results);
}

/** Returns the time that it took, ms. */
async function build(engine: Engine, source: string, naming: ImageNaming): Promise<number> {
  const before = performance.now();
  await buildImages(engine, source, naming);
  return performance.now() - before;
}

async function buildPrevious(
  engine: Engine,
  current: string,
  commit: string,
  results: Results,
): Promise<void> {
  const source = join(current, '..', 'previous');
  say(`Building the images of ${commit.slice(0, 12)} …`);
  await copyCommit(commit, source);
  // An older Dockerfile can need a registry, and an older Compose file names its images otherwise.
  for (const file of ['Dockerfile', 'docker-compose.yml'])
    await copyFile(join(current, file), join(source, file));
  results.add(`images of ${commit.slice(0, 12)} built`, seconds(await build(engine, source, PREVIOUS)));
}

/** Runs the README's commands in a new clone, follows its story, and inspects the running services. */
async function startAsNewcomer(system: ComposeSystem, results: Results): Promise<void> {
  const commands = await readCommands('README.md', START);
  say(`Running the commands of the README:\n${commands}`);
  const before = performance.now();
  await system.shell(commands);
  results.add('README command, until every service is healthy', seconds(performance.now() - before));
  await system.join();
  await createMonitor(system);
  results.add('until a monitor is UP through the published port', seconds(performance.now() - before));
  say('Following the README …');
  await followReadme(system);
  for (const service of SERVICES) results.problems.push(...(await inspectHardening(system, service)));
}

/** Upgrades, stops and kills under load. */
async function disturb(system: ComposeSystem, options: LoadOptions, results: Results): Promise<void> {
  say('Starting the previous images …');
  await system.up();
  await system.join();
  const load = await Load.start(system, options);
  say(`${options.rate} checks per second. Upgrading …`);
  results.addFindings('upgrade', await disturbUnderLoad(system, load, () => system.upgrade()));

  const stops = await disturbUnderLoad(system, load, async () => {
    for (const service of SERVICES) {
      say(`Stopping and starting ${service} …`);
      await system.replace(service);
    }
  });
  results.addFindings('stops', stops);
  const times = [...system.stopTimes].map(([part, ms]) => `${part} ${seconds(ms)}`);
  results.add('from SIGTERM to exit code 0', times.join(', '));

  const kills = await disturbUnderLoad(system, load, async () => {
    for (const part of await system.parts()) {
      say(`Killing ${part} …`);
      await system.kill(part);
      await load.checkOnce();
    }
  });
  results.addFindings('kills', kills, MAX_MISSED_SHARE_AFTER_KILLS);
}

function say(line: string): void {
  process.stdout.write(`${line}\n`);
}
