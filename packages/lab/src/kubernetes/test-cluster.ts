import { execFileSync, spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import { request as requestHttps } from 'node:https';
import { join } from 'node:path';
import { findFreePort } from '@tocsin/embedded/ports';
import { serverFolder, type Teardown } from '@tocsin/embedded/program/teardown';
import { until } from '@tocsin/embedded/testing/until';

/** A response to a request to the API server. */
interface KubernetesResponse {
  readonly status: number;
  readonly body: Readonly<Record<string, unknown>>;
}

const TOKEN = 'test-token';

/** An etcd and a kube-apiserver on this machine, from the folder in KUBEBUILDER_ASSETS, as for envtest. */
export class TestCluster {
  readonly kubeconfig: string;
  readonly #assets: string;
  readonly #folder: string;
  readonly #port: number;
  readonly #etcdPort: number;
  #server: ChildProcess | undefined;

  private constructor(assets: string, folder: string, port: number, etcdPort: number) {
    this.#assets = assets;
    this.#folder = folder;
    this.#port = port;
    this.#etcdPort = etcdPort;
    this.kubeconfig = join(folder, 'kubeconfig');
  }

  /** Returns the folder with the programs, or null. */
  static findAssets(): string | null {
    const folder = process.env['KUBEBUILDER_ASSETS'] ?? '';
    return ['etcd', 'kube-apiserver'].every((name) => existsSync(join(folder, name))) ? folder : null;
  }

  static async start(assets: string, parent: string, teardown: Teardown): Promise<TestCluster> {
    const folder = await serverFolder(parent, 'kubernetes', teardown);
    const [port, etcdPort, peerPort] = [await findFreePort(), await findFreePort(), await findFreePort()];
    const cluster = new TestCluster(assets, folder, port, etcdPort);
    execFileSync('openssl', ['genrsa', '-out', join(folder, 'sa.key'), '2048'], { stdio: 'ignore' });
    await writeFile(join(folder, 'tokens'), `"${TOKEN}",admin,1,"system:masters"\n`);
    await writeFile(cluster.kubeconfig, JSON.stringify(cluster.#config()));
    const [client, peer] = [`http://127.0.0.1:${etcdPort}`, `http://127.0.0.1:${peerPort}`];
    const etcd = cluster.#spawn('etcd', [
      `--data-dir=${join(folder, 'etcd')}`,
      `--listen-client-urls=${client}`,
      `--advertise-client-urls=${client}`,
      `--listen-peer-urls=${peer}`,
      `--initial-advertise-peer-urls=${peer}`,
      `--initial-cluster=default=${peer}`,
    ]);
    teardown.onStop(() => end(etcd));
    await cluster.startServer();
    teardown.onStop(() => cluster.killServer());
    return cluster;
  }

  async startServer(): Promise<void> {
    this.#server = this.#spawn('kube-apiserver', [
      `--etcd-servers=http://127.0.0.1:${this.#etcdPort}`,
      `--secure-port=${this.#port}`,
      '--bind-address=127.0.0.1',
      `--cert-dir=${join(this.#folder, 'certificates')}`,
      '--service-account-issuer=https://kubernetes.default.svc',
      `--service-account-key-file=${join(this.#folder, 'sa.key')}`,
      `--service-account-signing-key-file=${join(this.#folder, 'sa.key')}`,
      `--token-auth-file=${join(this.#folder, 'tokens')}`,
      '--authorization-mode=RBAC',
      '--service-cluster-ip-range=10.0.0.0/24',
      // Etcd keeps only what `compact` leaves.
      '--etcd-compaction-interval=0',
    ]);
    await until('the API server', async () => {
      const { status } = await this.request('GET', '/readyz?verbose=false').catch(() => ({ status: 0 }));
      return status === 200;
    });
  }

  async killServer(): Promise<void> {
    if (this.#server !== undefined) await end(this.#server);
  }

  /** Deletes the history of all objects, so that a watch from an earlier version fails. */
  async compact(): Promise<void> {
    const base = `http://127.0.0.1:${this.#etcdPort}/v3/kv`;
    const post = async (path: string, body: object): Promise<{ header?: { revision: string } }> =>
      (await fetch(`${base}/${path}`, { method: 'POST', body: JSON.stringify(body) })).json() as never;
    const { header } = await post('range', { key: Buffer.from('a').toString('base64') });
    await post('compaction', { revision: header?.revision, physical: true });
  }

  /** @param body sent as JSON, or with PATCH as a merge patch */
  async request(method: string, path: string, body?: object): Promise<KubernetesResponse> {
    const text = body === undefined ? undefined : JSON.stringify(body);
    const type = method === 'PATCH' ? 'application/merge-patch+json' : 'application/json';
    const request = requestHttps({
      host: '127.0.0.1',
      port: this.#port,
      path,
      method,
      rejectUnauthorized: false,
      headers: { Authorization: `Bearer ${TOKEN}`, 'Content-Type': type },
    });
    request.end(text);
    const [response] = (await once(request, 'response')) as [NodeJS.ReadableStream & { statusCode: number }];
    let received = '';
    for await (const chunk of response) received += String(chunk);
    const isJson = received.startsWith('{');
    return { status: response.statusCode, body: isJson ? (JSON.parse(received) as object as never) : {} };
  }

  /** Creates objects that do not exist yet. @param path of their list */
  async create(path: string, objects: readonly object[]): Promise<void> {
    for (const object of objects) {
      const { status, body } = await this.request('POST', path, object);
      if (status >= 300 && status !== 409) throw new Error(`${path}: ${JSON.stringify(body)}`);
    }
  }

  #config(): object {
    const cluster = { server: `https://127.0.0.1:${this.#port}`, 'insecure-skip-tls-verify': true };
    return {
      'current-context': 'test',
      clusters: [{ name: 'test', cluster }],
      users: [{ name: 'test', user: { token: TOKEN } }],
      contexts: [{ name: 'test', context: { cluster: 'test', user: 'test' } }],
    };
  }

  #spawn(name: string, args: readonly string[]): ChildProcess {
    return spawn(join(this.#assets, name), args, { stdio: 'ignore' });
  }
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = once(child, 'exit');
  child.kill('SIGKILL');
  await ended;
}

/** The CustomResourceDefinitions that the chart installs, as YAML. */
export async function readDefinitions(): Promise<string> {
  return readFile(new URL('../../../../infra/helm/tocsin/files/crds.yaml', import.meta.url), 'utf8');
}
