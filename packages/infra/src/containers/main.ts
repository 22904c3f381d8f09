import { copyFile } from 'node:fs/promises';
import { join } from 'node:path';
import { text } from '@tocsin/lab/options';
import { copyCommit, copyWorkTree, findPreviousCommit, readCommands } from '../repository.ts';
import { runRollout, say, seconds, type Results, type Rollout } from '../rollout/command.ts';
import { inspectHardening } from '../rollout/deployed-system.ts';
import { Load } from '../rollout/load.ts';
import { createMonitor, followReadme } from '../rollout/story.ts';
import { ensureBaseImages, readBaseImages } from './base-images.ts';
import { ComposeSystem } from './compose-system.ts';
import { openEngine, type Engine } from './engine.ts';
import { buildImages, IMAGES, inspectImage, type ImageNaming } from './images.ts';

const SERVICES = ['api', 'notifier', 'checker-eu', 'checker-us'];
const CURRENT: ImageNaming = { registry: 'localhost', version: 'test' };
const PREVIOUS: ImageNaming = { registry: 'localhost', version: 'previous' };
/** The command of the README that starts Tocsin with Docker. */
const START = 'docker compose up';
/** Of all slots while each part was killed once. */
const MAX_MISSED_SHARE_AFTER_KILLS = 0.02;

const COMMAND = {
  usage: 'test:containers',
  about: 'Builds every image, runs docker-compose.yml with them, and tests the result (docs/reliability.md).',
  own: {
    previous: text(
      'what to upgrade from; by default the last release, or an earlier commit whose database can be upgraded',
      'COMMIT',
    ),
  },
};

/**
 * `npm run test:containers`. Exits with 2 if no Docker engine can be used.
 * @public called by `bootstrap.js`
 */
export function main(args: readonly string[]): Promise<void> {
  return runRollout(args, COMMAND, async ({ previous }, rollout) => {
    const from =
      previous === null ? await findPreviousCommit() : { commit: previous, description: 'as asked for' };
    const { folder, load, results, teardown } = rollout;
    const engine = await openEngine(teardown, say);
    const bases = await readBaseImages();
    const standIns = await ensureBaseImages(engine, bases, say);
    const version = (await engine.docker(['version', '--format', '{{.Server.Version}}'])).trim();
    results.add('Docker engine; stand-ins', `${version}; ${standIns.join(', ') || 'none'}`);

    // A path with a space, as users have them.
    const source = join(folder, 'new clone');
    await copyWorkTree(source);
    await buildCurrent(engine, source, bases.node, rollout);
    results.add('upgrade from', `${from.commit.slice(0, 12)}, ${from.description}`);
    await buildPrevious(engine, source, from.commit, results);

    const prepare = (project: string, images: ImageNaming): Promise<ComposeSystem> => {
      const options = { engine, folder: source, nodeImage: bases.node, project, images, upgradeTo: CURRENT };
      return ComposeSystem.prepare(options, teardown);
    };
    const fresh = await prepare('tocsin-test-fresh', CURRENT);
    await startAsNewcomer(fresh, results);
    await fresh.remove();

    const system = await prepare('tocsin-test-upgrade', PREVIOUS);
    say('Starting the previous images …');
    await system.up();
    await system.join();
    await disturb(system, await Load.start(system, load), results);
  });
}

async function buildCurrent(
  engine: Engine,
  source: string,
  base: string,
  { results, folder }: Rollout,
): Promise<void> {
  say('Building the images …');
  const before = performance.now();
  await buildImages(engine, source, CURRENT);
  results.add('all images built', seconds(performance.now() - before));
  for (const name of IMAGES) {
    const { addedBytes, problems } = await inspectImage(engine, name, CURRENT, base, folder);
    results.add(`${name} adds to its base`, `${(addedBytes / 1e6).toFixed(0)} MB`);
    results.problems.push(...problems.map((problem) => `image ${name}: ${problem}`));
  }
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
  // An older Dockerfile can need a registry, and an older Compose file can name its images differently.
  for (const file of ['Dockerfile', 'docker-compose.yml'])
    await copyFile(join(current, file), join(source, file));
  const before = performance.now();
  await buildImages(engine, source, PREVIOUS);
  results.add('previous images built', seconds(performance.now() - before));
}

/** Runs the README's commands in a new clone, follows the README, and inspects the running services. */
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
async function disturb(system: ComposeSystem, load: Load, results: Results): Promise<void> {
  say(`${load.options.rate} checks per second. Upgrading …`);
  results.addFindings('upgrade', await load.measure(() => system.upgrade()));

  const stops = await load.measure(async () => {
    for (const service of SERVICES) {
      say(`Stopping and starting ${service} …`);
      await system.replace(service);
    }
  });
  results.addFindings('stops', stops);
  const times = [...system.stopTimes].map(([part, ms]) => `${part} ${seconds(ms)}`);
  results.add('from SIGTERM to exit code 0', times.join(', '));

  const kills = await load.measure(async () => {
    for (const part of await system.parts()) {
      say(`Killing ${part} …`);
      await system.kill(part);
      await load.checkAll();
    }
  });
  results.addFindings('kills', kills, MAX_MISSED_SHARE_AFTER_KILLS);
}
