import { UsageError } from '@tocsin/embedded/program/run-program';
import { text } from '@tocsin/lab/options';
import { parse } from 'yaml';
import { readBaseImages } from '../containers/base-images.ts';
import { readRepositoryFile } from '../repository.ts';
import { runRollout, say, seconds, UnavailableError, type Rollout } from '../rollout/command.ts';
import { inspectHardening } from '../rollout/deployed-system.ts';
import { Load } from '../rollout/load.ts';
import { createMonitor, followReadme } from '../rollout/story.ts';
import { runTool, succeeds } from '../run-tool.ts';
import { KubernetesSystem, type KubernetesOptions, type Pod } from './kubernetes-system.ts';

const COMMAND = {
  usage: 'test:kubernetes',
  about:
    'Installs the chart in a new namespace of the cluster that KUBECONFIG names, and tests it (docs/kubernetes-test.md).\nThe images come from the registry that IMAGE_REGISTRY names.',
  own: {
    from: text('of the images to install; by default the same as --to', 'TAG'),
    to: text("of the images to upgrade to; by default the chart's appVersion", 'TAG'),
    node: text('the node whose pods are deleted; by default the one with the most pods', 'NAME'),
    postgres: text('by default that of docker-compose.yml', 'IMAGE'),
    redis: text('by default that of docker-compose.yml', 'IMAGE'),
  },
};

/**
 * `npm run test:kubernetes`. Exits with 2 if there is no cluster.
 * @public called by `bootstrap.js`
 */
export function main(args: readonly string[]): Promise<void> {
  return runRollout(args, COMMAND, async ({ from, to, node, postgres, redis }, rollout) => {
    const registry = await findRegistry();
    if (node !== null && !(await succeeds('kubectl', ['get', 'node', node])))
      throw new UsageError(`--node: the cluster has no node ${node}`);
    const bases = await readBaseImages();
    const tag = to ?? (await readAppVersion());
    const options = {
      registry,
      from: from ?? tag,
      to: tag,
      postgresImage: postgres ?? bases.postgres,
      redisImage: redis ?? bases.redis,
    };
    await run(options, node, rollout);
  });
}

/** Checks that there are a cluster and a registry. Only an explicit KUBECONFIG counts, so that the test never runs in a cluster by accident. */
async function findRegistry(): Promise<string> {
  const { KUBECONFIG, IMAGE_REGISTRY } = process.env;
  if (KUBECONFIG === undefined || KUBECONFIG === '')
    throw new UnavailableError(
      'No cluster: set KUBECONFIG to the file that names one. docs/kubernetes-test.md shows how to create one with kind or k3d.',
    );
  if (IMAGE_REGISTRY === undefined || IMAGE_REGISTRY === '')
    throw new UnavailableError(
      'No images: set IMAGE_REGISTRY to the registry that the cluster pulls tocsin/api and the other images from.',
    );
  await runTool('kubectl', ['get', 'nodes', '--request-timeout=10s']).catch((error: unknown) => {
    throw new UnavailableError(`No cluster: ${error instanceof Error ? error.message : String(error)}`);
  });
  return IMAGE_REGISTRY;
}

async function readAppVersion(): Promise<string> {
  const chart = parse(await readRepositoryFile('infra/helm/tocsin/Chart.yaml')) as { appVersion: string };
  return chart.appVersion;
}

async function run(
  options: KubernetesOptions,
  node: string | null,
  { load: loadOptions, results, teardown }: Rollout,
): Promise<void> {
  say(`Installing the chart with images ${options.from} …`);
  const before = performance.now();
  const system = await KubernetesSystem.install(options, teardown);
  results.add('chart installed, until every pod is ready', seconds(performance.now() - before));
  await createMonitor(system);
  results.add('until a monitor is UP through the service', seconds(performance.now() - before));
  say('Following the README …');
  await followReadme(system);
  for (const { metadata } of await system.pods())
    results.problems.push(...(await inspectHardening(system, metadata.name)));

  const load = await Load.start(system, loadOptions);
  say(`${loadOptions.rate} checks per second. Upgrading to ${options.to} …`);
  results.addFindings('upgrade', await load.measure(() => system.upgrade()));

  const pods = podsOf(await system.pods(), node);
  if (pods.length === 0) {
    results.problems.push(`no pod of the chart runs on the node ${node ?? ''}`);
    return;
  }
  const deletions = await load.measure(async () => {
    for (const pod of pods) {
      say(`Deleting pod ${pod} …`);
      await system.replace(pod);
    }
  });
  results.addFindings(`deletion of ${pods.length} pods`, deletions);
}

/** The names of the pods on one node: the given one, else the one with the most pods. */
function podsOf(pods: readonly Pod[], node: string | null): string[] {
  const byNode = new Map<string, string[]>();
  for (const { metadata, spec } of pods) {
    const name = spec.nodeName ?? '';
    byNode.set(name, [...(byNode.get(name) ?? []), metadata.name]);
  }
  const [fullest = []] = [...byNode.values()].sort((a, b) => b.length - a.length);
  return node === null ? fullest : (byNode.get(node) ?? []);
}
