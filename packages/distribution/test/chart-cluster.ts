import { randomBytes } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { helm, kubectl } from '@tocsin/distribution/helm';
import { ToolError } from '@tocsin/distribution/run-tool';
import type { Teardown } from '@tocsin/embedded/program/teardown';
import { createTemporaryFolder } from '@tocsin/embedded/testing/temporary-folder';
import { until } from '@tocsin/embedded/testing/until';
import { TestCluster } from '@tocsin/lab/kubernetes/test-cluster';
import { fixtures } from './cluster-fixtures.ts';
import { podsOf, type Manifest } from './manifests.ts';

const RELEASE = 'up';
/** Kubernetes itself creates and deletes these, some of them later than the objects of the release. */
const DERIVED = /^(apiservices|endpoints|endpointslices|events|ipaddresses|leases|pods|replicasets)\b/;
const AT = '2026-01-01T00:00:00Z';
const FINISHED = {
  startTime: AT,
  completionTime: AT,
  succeeded: 1,
  uncountedTerminatedPods: {},
  conditions: ['SuccessCriteriaMet', 'Complete'].map((type) => ({
    type,
    status: 'True',
    lastProbeTime: AT,
    lastTransitionTime: AT,
  })),
};

/** The API server of KUBEBUILDER_ASSETS or the cluster of KUBECONFIG, with namespaces of its own. No pod needs to run there. */
export class ChartCluster {
  readonly id = `tocsin-test-${randomBytes(4).toString('hex')}`;
  readonly release = `${this.id}-release`;
  readonly openshift = `${this.id}-openshift`;
  readonly #kubeconfig: string;

  private constructor(kubeconfig: string) {
    this.#kubeconfig = kubeconfig;
  }

  static async open(teardown: Teardown): Promise<ChartCluster> {
    const assets = TestCluster.findAssets();
    const folder = await createTemporaryFolder();
    teardown.onStop(folder.remove);
    const started = assets === null ? null : await TestCluster.start(assets, folder.path, teardown);
    const kubeconfig = join(folder.path, 'kubeconfig');
    const source = started?.kubeconfig ?? process.env['KUBECONFIG'] ?? '';
    await writeFile(kubeconfig, (await kubectl(source, ['config', 'view', '--raw', '--flatten'])).stdout);
    const cluster = new ChartCluster(kubeconfig);
    // With a flag, kubectl would refuse objects of other namespaces.
    await cluster.kubectl(['config', 'set-context', '--current', `--namespace=${cluster.id}`]);
    if (started === null) {
      const definitions = await cluster.kubectl(['get', 'crd', '--output=name']);
      if (definitions.includes('.tocsin.dev'))
        throw new Error('The cluster of KUBECONFIG has the resources of the operator. Use another one');
      const own = ['channels.tocsin.dev', 'monitors.tocsin.dev'];
      teardown.onStop(() => cluster.kubectl(['delete', 'crd', '--ignore-not-found', ...own]));
    }
    for (const object of fixtures(cluster.id)) await cluster.#create(object, started ? null : teardown);
    await cluster.untilEstablished();
    const bare = { apiVersion: 'v1', kind: 'Pod', spec: { containers: [{ name: 'a', image: 'a' }] } };
    await until('both rules for pods', async () => {
      const found = [cluster.id, cluster.openshift].map((namespace) =>
        cluster.#refusals(namespace, [{ ...bare, metadata: { name: 'bare' } }]),
      );
      return (await Promise.all(found)).every((refusals) => refusals !== '');
    });
    return cluster;
  }

  async kubectl(args: readonly string[], input?: string): Promise<string> {
    return (await kubectl(this.#kubeconfig, args, input)).stdout;
  }

  /** Waits until the server knows the kinds of all CustomResourceDefinitions. */
  async untilEstablished(): Promise<void> {
    await this.kubectl(['wait', '--for=condition=Established', 'crd', '--all']);
  }

  /** Validates manifests as if they were applied. @throws ToolError with warnings and errors */
  async validate(manifests: string): Promise<void> {
    const options = ['--server-side', '--dry-run=server', '--validate=strict', '--warnings-as-errors'];
    await this.kubectl(['apply', ...options, '--filename=-'], manifests);
  }

  /** Returns why admission refuses pods that the manifests would start, or an empty string. */
  async refusedPods(namespace: string, manifests: readonly Manifest[]): Promise<string> {
    const pods = podsOf(manifests).map(({ name, metadata, spec }) => ({
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { ...metadata, name },
      spec,
    }));
    return this.#refusals(namespace, pods);
  }

  async #refusals(namespace: string, items: readonly object[]): Promise<string> {
    const list = JSON.stringify({ apiVersion: 'v1', kind: 'List', items });
    const options = ['--dry-run=server', '--validate=strict', '--warnings-as-errors', '--filename=-'];
    return this.kubectl(['create', '--namespace', namespace, ...options], list).then(
      () => '',
      (error: unknown) => {
        if (error instanceof ToolError) return error.message;
        throw error;
      },
    );
  }

  async helm(args: readonly string[], values?: object): Promise<void> {
    await helm([...args, '--namespace', this.release, `--kubeconfig=${this.#kubeconfig}`], values);
  }

  /** Installs or upgrades the release, and finishes the Job of the migration. */
  async deploy(chart: string, values: object): Promise<void> {
    let isDone = false;
    const deploying = this.helm(['upgrade', '--install', RELEASE, chart, '--history-max=0'], values).finally(
      () => {
        isDone = true;
      },
    );
    const inRelease = ['--namespace', this.release];
    const patch = ['--subresource=status', '--type=merge', `--patch=${JSON.stringify({ status: FINISHED })}`];
    const finish = async (): Promise<boolean> => {
      const job = (await this.kubectl(['get', 'jobs', '--output=name', ...inRelease])).trim();
      if (job === '') return isDone;
      // Helm deletes the Job as soon as it is finished.
      await this.kubectl(['patch', job, ...inRelease, ...patch]).catch(() => undefined);
      return true;
    };
    await Promise.all([deploying, until('the Job of the migration', finish)]);
  }

  /** Returns the content of each object in the scope of the release, by kind, namespace (empty for its own) and name. */
  async objects(): Promise<Map<string, string>> {
    const kinds = (await this.kubectl(['api-resources', '--verbs=list', '--output=name'])).trim().split('\n');
    const listed = kinds.filter((kind) => !DERIVED.test(kind)).join(',');
    const found = await this.kubectl(['get', listed, '--all-namespaces', '--output=json']);
    const { items } = JSON.parse(found) as { items: readonly Manifest[] };
    return new Map(
      items.flatMap(({ kind, metadata, ...content }) => {
        const { name, namespace = '', labels, annotations } = metadata;
        const isOther = ['', 'shop', 'cart'].includes(namespace) && name.includes('tocsin');
        if (name.startsWith('sh.helm.release') || !(namespace === this.release || isOther)) return [];
        const { status: _, ...desired } = content;
        const { 'deployment.kubernetes.io/revision': __, ...notes } = annotations ?? {};
        // A Service that is created again has another address.
        const text = JSON.stringify({ labels, notes, desired }, (key, value: unknown) =>
          key.startsWith('clusterIP') ? undefined : value,
        );
        return [[`${kind} ${namespace.replace(this.release, '')}/${name}`, text]];
      }),
    );
  }

  /** Creates an object unless it exists. @param teardown deletes it, or null to leave it */
  async #create(object: object, teardown: Teardown | null): Promise<void> {
    const text = JSON.stringify(object);
    const isNew = await this.kubectl(['create', '--filename=-'], text).then(
      () => true,
      (error: unknown) => {
        if (String(error).includes('AlreadyExists')) return false;
        throw error;
      },
    );
    if (isNew) teardown?.onStop(() => this.kubectl(['delete', '--wait=false', '--filename=-'], text));
  }
}
