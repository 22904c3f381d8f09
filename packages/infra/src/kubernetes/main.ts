import { writeFile } from 'node:fs/promises';
import { runProgram, UsageError } from '@tocsin/embedded/program/run-program';
import { openFolder } from '@tocsin/embedded/program/teardown';
import type { Teardown } from '@tocsin/embedded/program/teardown';
import { parse } from 'yaml';
import { readBaseImages } from '../containers/base-images.ts';
import { readRepositoryFile } from '../repository.ts';
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
import { runTool, succeeds } from '../run-tool.ts';
import { type KubernetesOptions, KubernetesSystem, type Pod } from './kubernetes-system.ts';

const NO_CLUSTER = 2;

const HELP = `npm run test:kubernetes -- [options]

Installs the chart in a new namespace of the cluster that KUBECONFIG names, and tests it (docs/kubernetes-test.md). The images come from the
registry that IMAGE_REGISTRY names.

${LOAD_HELP}
  --from TAG          of the images to install (default: the same as --to)
  --to TAG            of the images to upgrade to (default: the chart's appVersion)
  --node NAME         the node whose pods are deleted (default: the one with the most pods)
  --postgres IMAGE    (default: that of docker-compose.yml)
  --redis IMAGE       (default: that of docker-compose.yml)`;

/**
 * `npm run test:kubernetes`. Exits with 2 where there is no cluster.
 * @public called by `bootstrap.js`
 */
export async function main(args: readonly string[]): Promise<void> {
  await runProgram(async (teardown) => {
    const values = parseCommandLine(args, {
      ...LOAD_OPTIONS,
      help: { type: 'boolean' },
      from: { type: 'string' },
      to: { type: 'string' },
      node: { type: 'string' },
      postgres: { type: 'string' },
      redis: { type: 'string' },
      json: { type: 'string' },
    });
    if (values.help === true) {
      say(HELP);
      return 0;
    }
    const load = parseLoadOptions(values);
    const missing = await findMissing();
    if (missing !== null) {
      say(missing);
      return NO_CLUSTER;
    }
    if (values.node !== undefined && !(await succeeds('kubectl', ['get', 'node', values.node])))
      throw new UsageError(`--node: the cluster has no node ${values.node}`);
    const bases = await readBaseImages();
    const to = values.to ?? (await readAppVersion());
    const options: KubernetesOptions = {
      registry: process.env['IMAGE_REGISTRY'] ?? '',
      from: values.from ?? to,
      to,
      postgresImage: values.postgres ?? bases.postgres,
      redisImage: values.redis ?? bases.redis,
    };
    const results = new Results();
    // Open this first: its sweeper ends everything that starts later, however this program ends.
    await openFolder('kubernetes', teardown);
    await run(options, load, values.node, results, teardown);
    say(`\n${results.toString()}`);
    if (values.json !== undefined) await writeFile(values.json, `${JSON.stringify(results, null, 2)}\n`);
    return results.problems.length === 0 ? 0 : 1;
  });
}

/** What keeps the test from running here; null for nothing. Only an explicit KUBECONFIG counts, so that the test never runs in a cluster by accident. */
async function findMissing(): Promise<string | null> {
  if ((process.env['KUBECONFIG'] ?? '') === '')
    return 'No cluster: set KUBECONFIG to the file that names one. docs/kubernetes-test.md shows how to create one with kind or k3d.';
  if ((process.env['IMAGE_REGISTRY'] ?? '') === '')
    return 'No images: set IMAGE_REGISTRY to the registry that the cluster pulls tocsin/api and the other images from.';
  try {
    await runTool('kubectl', ['get', 'nodes', '--request-timeout=10s']);
    return null;
  } catch (error) {
    return `No cluster: ${error instanceof Error ? error.message : String(error)}`;
  }
}

async function readAppVersion(): Promise<string> {
  const { appVersion } = parse(await readRepositoryFile('infra/helm/tocsin/Chart.yaml')) as {
    appVersion: string;
  };
  return appVersion;
}

async function run(
  options: KubernetesOptions,
  loadOptions: LoadOptions,
  node: string | undefined,
  results: Results,
  teardown: Teardown,
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
  results.addFindings('upgrade', await disturbUnderLoad(system, load, () => system.upgrade()));

  const pods = podsOf(await system.pods(), node);
  if (pods.length === 0) {
    results.problems.push(`no pod of the chart runs on the node ${node ?? ''}`);
    return;
  }
  const deletions = await disturbUnderLoad(system, load, async () => {
    for (const pod of pods) {
      say(`Deleting pod ${pod} …`);
      await system.replace(pod);
    }
  });
  results.addFindings(`deletion of ${pods.length} pods`, deletions);
}

/** The names of the pods on one node: that given, else the one with the most pods. */
function podsOf(pods: readonly Pod[], node: string | undefined): string[] {
  const byNode = new Map<string, string[]>();
  for (const { metadata, spec } of pods) {
    const name = spec.nodeName ?? '';
    byNode.set(name, [...(byNode.get(name) ?? []), metadata.name]);
  }
  const [fullest = []] = [...byNode.values()].sort((a, b) => b.length - a.length);
  return node === undefined ? fullest : (byNode.get(node) ?? []);
}

function say(line: string): void {
  process.stdout.write(`${line}\n`);
}
