import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { readFile, writeFile } from 'node:fs/promises';
import { setTimeout as wait } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import type { Monitor } from '@tocsin/contracts/monitors/monitor';
import { openFolder, type Teardown } from '@tocsin/embedded/program/teardown';
import { ensureRedisForTests } from '@tocsin/embedded/test-run/programs';
import { seenBefore, until } from '@tocsin/embedded/testing/until';
import type { ApiClient } from '@tocsin/lab/api-client';
import { runCommand, say } from '@tocsin/lab/command';
import { readDefinitions, TestCluster } from '@tocsin/lab/kubernetes/test-cluster';
import { number, type ValuesOf } from '@tocsin/lab/options';
import { Random } from '@tocsin/lab/random';
import { parseAllDocuments } from 'yaml';
import { startTocsin } from '../start-tocsin.ts';
import { Gate } from './gate.ts';

const OPTIONS = {
  seed: number('seed of all random choices', 1, { min: 1, max: 2 ** 31 }),
  rounds: number('rounds of changes, each with a fault', 10, { min: 1, max: 1_000 }),
  monitors: number('Monitors', 200, { min: 10, max: 5_000 }),
  bulk: number('Monitors of one namespace that are created at once at the end', 100, { min: 0, max: 5_000 }),
  away: number('seconds for which Tocsin or the API server is away', 20, { min: 1, max: 600 }),
};
const ABOUT = `Runs two operators on a real API server, and compares its Monitors with those of Tocsin after each fault. KUBEBUILDER_ASSETS must name a
folder with etcd and kube-apiserver, as for envtest. Otherwise it exits with 2.`;
const EXIT_NOT_PERMITTED = 2;
const EQUAL_WITHIN_MS = 30_000;
const NAMESPACES = 5;
const GROUP = '/apis/tocsin.dev/v1alpha1';
const OPERATOR = fileURLToPath(new URL('../../../../services/operator/bin/tocsin-operator', import.meta.url));
const FAULTS = ['none', 'API server killed', 'history compacted', 'Tocsin away', 'operator killed'] as const;

/** Implements `npm run test:campaigns -- operator`. @public called by `bootstrap.js` */
export async function main(args: readonly string[]): Promise<void> {
  await runCommand(args, { name: 'test:campaigns -- operator', about: ABOUT, options: OPTIONS, run });
}

async function run(options: ValuesOf<typeof OPTIONS>, teardown: Teardown): Promise<number> {
  const assets = TestCluster.findAssets();
  if (assets === null) {
    say('Skipped: KUBEBUILDER_ASSETS names no folder with etcd and kube-apiserver.');
    return EXIT_NOT_PERMITTED;
  }
  ensureRedisForTests(say);
  const folder = await openFolder('operator', teardown);
  const { api, key, port } = await startTocsin(folder, {}, teardown);
  const gate = await teardown.start(Gate.start(port), (one) => one.stop());
  const cluster = await TestCluster.start(assets, folder, teardown);
  const scene = new Scene({ cluster, api, key, gate, random: new Random(options.seed, 'operator') });
  await scene.prepare(options.monitors);
  const operators = [scene.startOperator(), scene.startOperator()];
  teardown.onStop(async () => Promise.all(operators.map(kill)));
  let problems = await scene.compare('start');
  for (let round = 0; round < options.rounds; round += 1) {
    const fault = FAULTS[round % FAULTS.length] ?? 'none';
    if (fault === 'API server killed') await cluster.killServer();
    if (fault === 'Tocsin away') gate.close();
    if (fault !== 'API server killed') await scene.change();
    if (fault === 'API server killed' || fault === 'Tocsin away') await wait(options.away * 1_000);
    if (fault === 'API server killed') await cluster.startServer();
    if (fault === 'history compacted') await scene.compactWhileAway();
    if (fault === 'operator killed') {
      const index = scene.random.integer(0, 1);
      await kill(operators[index]);
      operators[index] = scene.startOperator();
    }
    gate.open();
    await scene.change();
    problems += await scene.compare(fault);
  }
  if (options.bulk > 0) problems += await scene.createAtOnce(options.bulk);
  say(`violations: ${problems}`);
  return problems === 0 ? 0 : 1;
}

async function kill(child: ChildProcess | undefined): Promise<void> {
  if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
  const ended = once(child, 'exit');
  child.kill('SIGKILL');
  await ended;
}

interface Parts {
  readonly cluster: TestCluster;
  readonly api: ApiClient;
  readonly key: string;
  readonly gate: Gate;
  readonly random: Random;
}

interface Declared {
  readonly metadata: { readonly namespace: string; readonly name: string };
  readonly spec: { readonly url: string; readonly interval: number; readonly deletionPolicy?: string };
  readonly status?: {
    readonly id?: string;
    readonly status?: string;
    readonly conditions?: readonly {
      readonly type: string;
      readonly status: string;
      readonly reason: string;
      readonly message: string;
    }[];
  };
}

interface Warning {
  readonly involvedObject: { readonly name: string };
  readonly reason: string;
}

/** Monitors that are not accepted, and why. */
const REFUSED: ReadonlyMap<string, string> = new Map([
  ['taken', 'Conflict'],
  ['invalid', 'Invalid'],
  ['forbidden', 'SecretForbidden'],
]);

function rule(apiGroups: readonly string[], resources: readonly string[], verbs: readonly string[]): object {
  return { apiGroups, resources, verbs };
}

/** The cluster and Tocsin, and what they should have in common. */
class Scene {
  readonly random: Random;
  readonly #parts: Parts;
  /** Keys of deleted Monitors that must stay in Tocsin. */
  readonly #retained = new Set<string>();
  #created = 0;

  constructor(parts: Parts) {
    this.#parts = parts;
    this.random = parts.random;
  }

  async prepare(count: number): Promise<void> {
    const { cluster } = this.#parts;
    const definitions = parseAllDocuments(await readDefinitions()).map((each) => each.toJS() as object);
    await cluster.create('/apis/apiextensions.k8s.io/v1/customresourcedefinitions', definitions);
    const namespaces = Array.from({ length: NAMESPACES }, (_, index) => ({
      metadata: { name: `team-${index}` },
    }));
    await cluster.create('/api/v1/namespaces', [...namespaces, { metadata: { name: 'tocsin' } }]);
    await seenBefore(
      Date.now() + 30_000,
      async () => (await cluster.request('GET', `${GROUP}/monitors`)).status === 200,
    );
    for (let index = 0; index < count; index += 1) await this.#create();
    const other = {
      name: 'Other',
      url: 'https://example.com',
      externalId: 'test/team-0/taken',
      source: 'terraform',
    };
    await this.#parts.api.request('POST', '/api/cli/monitors', other);
    const wrong = { method: 'HEAD', assertions: { bodyContains: 'x' } };
    await this.#create('team-0', 'taken');
    await this.#create('team-0', 'invalid', wrong);
    const valueFrom = { secretKeyRef: { name: 'tokens', key: 'token' } };
    await this.#create('team-0', 'forbidden', { headers: [{ name: 'Authorization', valueFrom }] });
    await this.#grantRights();
  }

  /** Gives the operators the rights that the chart gives them, except to Secrets. */
  async #grantRights(): Promise<void> {
    const { cluster } = this.#parts;
    const rbac = '/apis/rbac.authorization.k8s.io/v1';
    const read = ['get', 'list', 'watch'];
    const rules = [
      rule(['tocsin.dev'], ['monitors', 'channels'], read),
      rule(['tocsin.dev'], ['monitors/status', 'channels/status'], ['patch']),
      rule(['networking.k8s.io'], ['ingresses', 'ingressclasses'], read),
      rule(['gateway.networking.k8s.io'], ['httproutes', 'gateways'], read),
      rule([''], ['services', 'namespaces'], read),
      rule([''], ['events'], ['create']),
      rule(['coordination.k8s.io'], ['leases'], ['create', 'get', 'update']),
    ];
    const metadata = { name: 'operator' };
    const account = { kind: 'ServiceAccount', name: 'operator', namespace: 'tocsin' };
    const roleRef = { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'operator' };
    await cluster.create(`${rbac}/clusterroles`, [{ metadata, rules }]);
    await cluster.create(`${rbac}/clusterrolebindings`, [{ metadata, roleRef, subjects: [account] }]);
    const accounts = '/api/v1/namespaces/tocsin/serviceaccounts';
    await cluster.create(accounts, [{ metadata }]);
    const { body } = await cluster.request('POST', `${accounts}/operator/token`, {
      spec: { expirationSeconds: 86_400 },
    });
    const { token } = body['status'] as { readonly token: string };
    const config = JSON.parse(await readFile(cluster.kubeconfig, 'utf8')) as object;
    await writeFile(
      this.#kubeconfig,
      JSON.stringify({ ...config, users: [{ name: 'test', user: { token } }] }),
    );
  }

  get #kubeconfig(): string {
    return `${this.#parts.cluster.kubeconfig}-of-operator`;
  }

  /** Creates Monitors, 50 at a time, and waits until all are synced. @returns 1 if that takes too long, otherwise 0 */
  async createAtOnce(count: number): Promise<number> {
    const startedAt = performance.now();
    const names = Array.from({ length: count }, (_, index) => `bulk-${index}`).values();
    const work = async (): Promise<void> => {
      for (const name of names) await this.#create('team-1', name);
    };
    await Promise.all(Array.from({ length: 50 }, work));
    say(`${count} Monitors created in ${Math.round(performance.now() - startedAt)} ms`);
    return this.compare('many Monitors were created');
  }

  startOperator(): ChildProcess {
    const { gate, key } = this.#parts;
    return spawn(process.execPath, [OPERATOR], {
      stdio: 'ignore',
      env: {
        PATH: process.env['PATH'],
        KUBECONFIG: this.#kubeconfig,
        POD_NAMESPACE: 'tocsin',
        CLUSTER_NAME: 'test',
        TOCSIN_URL: `http://127.0.0.1:${gate.port}`,
        TOCSIN_API_KEY: key,
        HEALTH_PORT: '0',
      },
    });
  }

  /** Creates, changes and deletes some Monitors. */
  async change(): Promise<void> {
    const { cluster } = this.#parts;
    const monitors = (await this.#declared()).filter(({ metadata }) => metadata.name.startsWith('monitor-'));
    for (let times = 0; times < 10; times += 1) {
      const { metadata, spec } = this.random.pick(monitors);
      const path = `${GROUP}/namespaces/${metadata.namespace}/monitors/${metadata.name}`;
      const kind = this.random.pick(['create', 'edit', 'edit', 'delete'] as const);
      if (kind === 'create') await this.#create();
      else if (kind === 'edit') {
        await cluster.request('PATCH', path, { spec: { interval: this.random.integer(600, 86_400) } });
      } else {
        const { status } = await cluster.request('DELETE', path);
        if (status === 200 && spec.deletionPolicy === 'Retain') this.#retained.add(keyOf(metadata));
      }
    }
  }

  /** Restarts the API server and compacts its history before the operators can reconnect to it. */
  async compactWhileAway(): Promise<void> {
    const { cluster } = this.#parts;
    await cluster.killServer();
    await cluster.compact();
    await cluster.startServer();
  }

  /** Waits until Tocsin has exactly what the cluster declares. @returns 1 if that takes too long, otherwise 0 */
  async compare(what: string): Promise<number> {
    const startedAt = performance.now();
    let difference = '';
    const isEqual = await seenBefore(Date.now() + EQUAL_WITHIN_MS, async () => {
      difference = await this.#difference();
      return difference === '';
    });
    const ms = Math.round(performance.now() - startedAt);
    say(isEqual === null ? `VIOLATED after ${what}: ${difference}` : `${what}: equal after ${ms} ms`);
    return isEqual === null ? 1 : 0;
  }

  async #difference(): Promise<string> {
    const declared = await this.#declared();
    const { body } = await this.#parts.api.request('GET', '/api/cli/monitors');
    const found = new Map(
      (body as { monitors: Monitor[] }).monitors.map((each) => [each.externalId ?? '', each]),
    );
    const { body: list } = await this.#parts.cluster.request('GET', '/api/v1/namespaces/team-0/events');
    const warned = new Set(
      (list['items'] as readonly Warning[]).map((each) => `${each.involvedObject.name} ${each.reason}`),
    );
    const expected = new Set([...this.#retained, 'test/team-0/taken']);
    for (const { metadata, spec, status } of declared) {
      const key = keyOf(metadata);
      const synced = status?.conditions?.find(({ type }) => type === 'Synced')?.status;
      const reason = REFUSED.get(metadata.name);
      if (reason !== undefined) {
        const accepted = status?.conditions?.find(({ type }) => type === 'Accepted');
        if (accepted?.reason !== reason || accepted.message === '' || synced !== 'False')
          return `${key} does not say that it is not accepted because of ${reason}`;
        if (!warned.has(`${metadata.name} ${reason}`)) return `${key} has no Event`;
        continue;
      }
      expected.add(key);
      const monitor = found.get(key);
      if (monitor === undefined) return `${key} is missing`;
      if (monitor.interval !== spec.interval || monitor.url !== spec.url) return `${key} is outdated`;
      if (synced !== 'True' || status?.id !== monitor.id) return `${key} has an outdated status`;
    }
    for (const key of expected) if (!found.has(key)) return `${key} was deleted`;
    for (const key of found.keys()) if (!expected.has(key)) return `${key} should be deleted`;
    return '';
  }

  async #declared(): Promise<readonly Declared[]> {
    let items: readonly Declared[] | undefined;
    // The API server serves its own kinds before those of definitions.
    await until('the Monitors of the cluster', async () => {
      const { body } = await this.#parts.cluster.request('GET', `${GROUP}/monitors`);
      items = body['items'] as typeof items;
      return items !== undefined;
    });
    return items ?? [];
  }

  async #create(namespace?: string, name?: string, more: object = {}): Promise<void> {
    const index = this.#created;
    this.#created += 1;
    const spec = {
      url: `http://127.0.0.1:1/${index}`,
      interval: this.random.integer(600, 86_400),
      ...(index % 10 === 0 && { deletionPolicy: 'Retain' }),
      ...more,
    };
    const object = {
      apiVersion: 'tocsin.dev/v1alpha1',
      kind: 'Monitor',
      metadata: { name: name ?? `monitor-${index}` },
      spec,
    };
    await this.#parts.cluster.create(
      `${GROUP}/namespaces/${namespace ?? `team-${index % NAMESPACES}`}/monitors`,
      [object],
    );
  }
}

const keyOf = ({ namespace, name }: Declared['metadata']): string => `test/${namespace}/${name}`;
