import { copyFile } from 'node:fs/promises';
import { join } from 'node:path';
import { say } from '@tocsin/lab/command';
import { text } from '@tocsin/lab/options';
import { copyCommit, copyWorkTree, findPreviousCommit, readCommands } from '../repository.ts';
import { runRollout, seconds, type Results, type Rollout } from '../rollout/command.ts';
import { Load } from '../rollout/load.ts';
import { followReadme } from '../rollout/story.ts';
import { ensureBaseImages, readBaseImages } from './base-images.ts';
import { ComposeSystem } from './compose-system.ts';
import { openEngine, type Engine } from './engine.ts';
import { buildImages, IMAGES, inspectImage, type ImageNaming } from './images.ts';

const CURRENT: ImageNaming = { registry: 'localhost', version: 'test' };
const PREVIOUS: ImageNaming = { registry: 'localhost', version: 'previous' };
/** The command of the README that starts Tocsin with Docker. */
const START = 'docker compose up';
/** Of all slots while each part was killed once. */
const MAX_MISSED_SHARE_AFTER_KILLS = 0.02;

const COMMAND = {
  name: 'test:containers',
  about: 'Builds every image, runs docker-compose.yml with them, and tests the result (docs/reliability.md).',
  options: {
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
    const from = previous ? { commit: previous, description: 'as requested' } : await findPreviousCommit();
    const { folder, results, teardown } = rollout;
    const engine = await openEngine(teardown);
    const bases = await readBaseImages();
    const standIns = await ensureBaseImages(engine, bases);
    const version = (await engine.docker(['version', '--format', '{{.Server.Version}}'])).trim();
    results.add('Docker engine; stand-ins', `${version}; ${standIns.join(', ') || 'none'}`);

    // A path with a space, as users have them.
    const source = join(folder, 'new clone');
    await copyWorkTree(source);
    await build(engine, source, CURRENT, results);
    for (const name of IMAGES) {
      const { addedBytes, problems } = await inspectImage(engine, name, CURRENT, bases.node, folder);
      results.add(`${name} adds to its base`, `${(addedBytes / 1e6).toFixed(0)} MB`);
      results.problems.push(...problems);
    }
    results.add('upgrade from', `${from.commit.slice(0, 12)}, ${from.description}`);
    const previousSource = join(folder, 'previous');
    await copyCommit(from.commit, previousSource);
    // An older Dockerfile can need a registry, and an older Compose file can name its images differently.
    for (const file of ['Dockerfile', 'docker-compose.yml'])
      await copyFile(join(source, file), join(previousSource, file));
    await build(engine, previousSource, PREVIOUS, results);

    const options = { engine, folder: source, nodeImage: bases.node, upgradeTo: CURRENT };
    const fresh = { ...options, project: 'tocsin-test-fresh', images: CURRENT };
    await startAsNewcomer(await ComposeSystem.prepare(fresh, teardown), results);
    const old = { ...options, project: 'tocsin-test-upgrade', images: PREVIOUS };
    await disturb(await ComposeSystem.prepare(old, teardown), rollout);
  });
}

async function build(engine: Engine, source: string, naming: ImageNaming, results: Results): Promise<void> {
  say(`Building the images ${naming.version} …`);
  const before = performance.now();
  await buildImages(engine, source, naming);
  results.addTime(`images ${naming.version} built`, before);
}

/** Runs the README's commands in a new clone, follows the README, and removes the system. */
async function startAsNewcomer(system: ComposeSystem, results: Results): Promise<void> {
  const commands = await readCommands('README.md', START);
  say(`Running the commands of the README:\n${commands}`);
  const before = performance.now();
  await system.shell(commands);
  results.addTime('README command, until every service is healthy', before);
  await system.join();
  await followReadme(system, results, before);
  await system.remove();
}

/** Starts the previous images. Upgrades, stops and kills them under load. */
async function disturb(system: ComposeSystem, { load: options, results }: Rollout): Promise<void> {
  say('Starting the previous images …');
  await system.up();
  await system.join();
  const load = await Load.start(system, options);
  say(`${options.rate} checks per second. Upgrading …`);
  results.addFindings('upgrade', await load.measure(() => system.upgrade()));

  const stops = await load.measure(async () => {
    for (const service of await system.services()) {
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
