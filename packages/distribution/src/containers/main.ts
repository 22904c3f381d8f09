import { copyFile } from 'node:fs/promises';
import { join } from 'node:path';
import { runCommand, say } from '@tocsin/lab/command';
import { flag, text, type ValuesOf } from '@tocsin/lab/options';
import { copyCommit, copyWorkTree, findPreviousCommit, readCommands } from '../repository.ts';
import { LOAD_OPTIONS, rollout, seconds, type Results, type Rollout } from '@tocsin/lab/rollout/command';
import { Load } from '@tocsin/lab/rollout/load';
import { followReadme } from '@tocsin/lab/rollout/story';
import { ensureBaseImages, readBaseImages } from './base-images.ts';
import { ComposeSystem, SERVICES } from './compose-system.ts';
import { openEngine, type Engine } from './engine.ts';
import { buildImages, IMAGES, inspectImage, type ImageNaming } from './images.ts';

const CURRENT: ImageNaming = { registry: 'localhost', version: 'test' };
const PREVIOUS: ImageNaming = { registry: 'localhost', version: 'previous' };
/** Command in the README that starts Tocsin with Docker. */
const START = 'docker compose up';
/** Share of slots that may be missed while each part is killed once. */
const MAX_MISSED_SHARE_AFTER_KILLS = 0.02;

const ABOUT =
  'Builds every image, runs docker-compose.yml with them, and tests the result (docs/reliability.md).';
const OPTIONS = {
  ...LOAD_OPTIONS,
  'first-use': flag('only builds the images and follows the README, without upgrade and crashes'),
  previous: text(
    'commit to upgrade from; by default the last release, or an earlier commit with the same first migration',
    'COMMIT',
  ),
};

/**
 * `npm run test:campaigns -- containers`. Exits with 2 if no Docker engine can be used.
 * @public called by `bootstrap.js`
 */
export function main(args: readonly string[]): Promise<void> {
  return runCommand(args, {
    name: 'test:campaigns -- containers',
    about: ABOUT,
    options: OPTIONS,
    run: rollout(test),
  });
}

async function test(
  { previous, 'first-use': isFirstUse, ...load }: ValuesOf<typeof OPTIONS>,
  { folder, results, teardown }: Rollout,
): Promise<void> {
  const engine = await openEngine(teardown);
  const bases = await readBaseImages();
  const standIns = await ensureBaseImages(engine, bases);
  const version = (await engine.docker(['version', '--format', '{{.Server.Version}}'])).trim();
  results.add('Docker engine; stand-ins', `${version}; ${standIns.join(', ') || 'none'}`);

  // Some users have a space in their path.
  const source = join(folder, 'new clone');
  await copyWorkTree(source);
  await build(engine, source, CURRENT, results);
  for (const name of IMAGES) {
    const { addedBytes, problems } = await inspectImage(engine, name, CURRENT, bases.node, folder);
    results.add(`${name} adds to its base`, `${(addedBytes / 1e6).toFixed(0)} MB`);
    results.problems.push(...problems);
  }

  const prepare = (project: string, images: ImageNaming): Promise<ComposeSystem> => {
    const options = { engine, folder: source, project, nodeImage: bases.node, images, upgradeTo: CURRENT };
    return ComposeSystem.prepare(options, teardown);
  };
  const fresh = await prepare('tocsin-test-fresh', CURRENT);
  const commands = await readCommands('README.md', START);
  say(`Running the commands of the README:\n${commands}`);
  const before = performance.now();
  await fresh.start(commands);
  results.addTime('README command, until every service is healthy', before);
  await followReadme(fresh, results, before);
  await fresh.remove();
  if (isFirstUse) return;

  const from = previous ?? (await findPreviousCommit());
  results.add('upgrade from', from.slice(0, 12));
  const previousSource = join(folder, 'previous');
  await copyCommit(from, previousSource);
  // An older Dockerfile can need a registry, and an older Compose file can name its images differently.
  for (const file of ['Dockerfile', 'docker-compose.yml'])
    await copyFile(join(source, file), join(previousSource, file));
  await build(engine, previousSource, PREVIOUS, results);

  const system = await prepare('tocsin-test-upgrade', PREVIOUS);
  say('Starting the previous images …');
  await system.start(`${START} --detach --wait --no-build`);
  await disturb(system, await Load.start(system, load), results);
}

async function build(engine: Engine, source: string, naming: ImageNaming, results: Results): Promise<void> {
  say(`Building the images ${naming.version} …`);
  const before = performance.now();
  await buildImages(engine, source, naming);
  results.addTime(`images ${naming.version} built`, before);
}

/** Upgrades, stops and kills under load. */
async function disturb(system: ComposeSystem, load: Load, results: Results): Promise<void> {
  await load.phase('upgrade', ['every service'], () => system.upgrade());
  const times: string[] = [];
  await load.phase('stop', SERVICES, async (service) => {
    times.push(`${service} ${seconds(await system.replace(service))}`);
  });
  results.add('from SIGTERM to exit code 0', times.join(', '));
  const kill = async (part: string): Promise<void> => {
    await system.kill(part);
    await load.checkAll();
  };
  await load.phase('kill', ['postgres', 'redis', ...SERVICES], kill, MAX_MISSED_SHARE_AFTER_KILLS);
  results.addRecord(await load.finish());
}
