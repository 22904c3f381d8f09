import { runCommand, say } from '@tocsin/lab/command';
import { text, type ValuesOf } from '@tocsin/lab/options';
import { parse } from 'yaml';
import { readBaseImages } from '../containers/base-images.ts';
import { CHART } from '../helm.ts';
import { readRepositoryFile } from '../repository.ts';
import { LOAD_OPTIONS, rollout, UnavailableError, type Rollout } from '@tocsin/lab/rollout/command';
import { Load } from '@tocsin/lab/rollout/load';
import { followReadme } from '@tocsin/lab/rollout/story';
import { runTool } from '../run-tool.ts';
import { KubernetesSystem } from './kubernetes-system.ts';

const ABOUT = `Installs the chart in a new namespace of the cluster that KUBECONFIG names, and tests it (docs/kubernetes-test.md).
The images come from the registry that IMAGE_REGISTRY names.`;
const OPTIONS = {
  ...LOAD_OPTIONS,
  from: text('tag of the images to install; by default the same as --to', 'TAG'),
  to: text("tag of the images to upgrade to; by default the chart's appVersion", 'TAG'),
  node: text('the node whose pods are deleted; by default the one with the most pods', 'NAME'),
  postgres: text('image of PostgreSQL; by default that of docker-compose.yml', 'IMAGE'),
  redis: text('image of Redis; by default that of docker-compose.yml', 'IMAGE'),
};

/**
 * `npm run test:campaigns -- kubernetes`. Exits with 2 if there is no cluster.
 * @public called by `bootstrap.js`
 */
export function main(args: readonly string[]): Promise<void> {
  return runCommand(args, {
    name: 'test:campaigns -- kubernetes',
    about: ABOUT,
    options: OPTIONS,
    run: rollout(test),
  });
}

async function test(options: ValuesOf<typeof OPTIONS>, { results, teardown }: Rollout): Promise<void> {
  const registry = await findRegistry();
  if (options.node !== null) await runTool('kubectl', ['get', 'node', options.node]);
  const bases = await readBaseImages();
  const { appVersion } = parse(await readRepositoryFile(`${CHART}/Chart.yaml`)) as { appVersion: string };
  const to = options.to ?? appVersion;
  const from = options.from ?? to;
  const images = { postgres: options.postgres ?? bases.postgres, redis: options.redis ?? bases.redis };
  say(`Installing the chart with images ${from} …`);
  const before = performance.now();
  const system = await KubernetesSystem.install({ registry, from, to, ...images }, teardown);
  results.addTime('chart installed, until every pod is ready', before);
  await followReadme(system, results, before);

  const load = await Load.start(system, options);
  await load.phase('upgrade', [to], () => system.upgrade());

  const nodes = await system.podsByNode();
  const [fullest = []] = [...nodes.values()].toSorted((one, other) => other.length - one.length);
  const pods = options.node === null ? fullest : (nodes.get(options.node) ?? []);
  if (pods.length === 0) {
    results.problems.push(`no pod of the chart runs on the node ${options.node ?? ''}`);
    return;
  }
  await load.phase('deletion', pods, (pod) => system.replace(pod));
  results.addRecord(await load.finish());
}

/**
 * Checks for a cluster and a registry. Only an explicit KUBECONFIG counts, so that the test never runs in a cluster by accident.
 * @returns the registry @throws UnavailableError
 */
async function findRegistry(): Promise<string> {
  const { KUBECONFIG, IMAGE_REGISTRY } = process.env;
  if (!KUBECONFIG)
    throw new UnavailableError(
      'No cluster. Set KUBECONFIG to the file that names one. docs/kubernetes-test.md shows how to create one with kind or k3d.',
    );
  if (!IMAGE_REGISTRY)
    throw new UnavailableError(
      'No images. Set IMAGE_REGISTRY to the registry that the cluster pulls tocsin/api and the other images from.',
    );
  await runTool('kubectl', ['get', 'nodes', '--request-timeout=10s']).catch((error: unknown) => {
    throw new UnavailableError(`No cluster: ${error instanceof Error ? error.message : String(error)}`);
  });
  return IMAGE_REGISTRY;
}
