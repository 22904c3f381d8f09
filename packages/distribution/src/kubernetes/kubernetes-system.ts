import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { setTimeout as wait } from 'node:timers/promises';
import { findFreePort } from '@tocsin/embedded/ports';
import type { Teardown } from '@tocsin/embedded/program/teardown';
import { ADMIN_ENV, PUBLIC_URL } from '@tocsin/lab/dashboard-session';
import { CHART, helm } from '../helm.ts';
import { DeployedSystem, outsideFiles } from '@tocsin/lab/rollout/deployed-system';
import { runTool } from '../run-tool.ts';

/** A chart with PostgreSQL, Redis, `outside.ts`, and the Secret and ConfigMap that Tocsin's chart expects. */
export const STORES_CHART = 'packages/distribution/stores';
const RELEASE = 'tocsin';
const OF_RELEASE = ['--selector', `app.kubernetes.io/instance=${RELEASE}`];
const PRIVATE_NETWORKS = '10.0.0.0/8,100.64.0.0/10,172.16.0.0/12,192.168.0.0/16,fc00::/7';
const READY_SECONDS = 300;
const DEPLOY_SECONDS = 1_200;
const FORWARD_AGAIN_MS = 500;
/** Prints the name, the node and the time of deletion of each pod. */
const POD_COLUMNS =
  '{range .items[*]}{.metadata.name} {.spec.nodeName} {.metadata.deletionTimestamp}{"\\n"}{end}';

/** The registry of the images `tocsin/<name>`, the tags to install and to upgrade to, and the images of the stores. */
type KubernetesOptions = Readonly<Record<'registry' | 'from' | 'to' | 'postgres' | 'redis', string>>;

/** Returns the values of `STORES_CHART`. */
export async function storesValues(
  { postgres, redis, registry, from }: KubernetesOptions,
  apiKey: string,
): Promise<object> {
  const password = randomBytes(24).toString('hex');
  return {
    images: { postgres, redis, outside: `${registry}/tocsin/checker:${from}` },
    outsideFiles: await outsideFiles(),
    settings: {
      POSTGRES_PASSWORD: password,
      REDIS_PASSWORD: password,
      DATABASE_URL: `postgres://tocsin:${password}@postgres:5432/tocsin`,
      QUEUE_URL: `redis://:${password}@redis:6379`,
      SECRETS_KEY: randomBytes(32).toString('base64'),
      BOOTSTRAP_API_KEY: apiKey,
      BOOTSTRAP_ADMIN_PASSWORD: ADMIN_ENV.BOOTSTRAP_ADMIN_PASSWORD,
    },
  };
}

/**
 * Returns the values of Tocsin's chart.
 * @param rollout a new number replaces every pod, even if the tag stays the same
 */
export function chartValues(registry: string, tag: string, rollout: number): object {
  const service = {
    podAnnotations: { 'rollout-test': String(rollout) },
    // A cluster on one small machine must have room for the pods of two versions.
    resources: { requests: { cpu: '50m' } },
  };
  // Some network plugins do not match pods by address, so EGRESS_ALLOW_CIDRS alone does not allow the connections.
  const egress = [{ to: [{ podSelector: { matchLabels: { 'rollout-test': 'outside' } } }] }];
  return {
    image: { registry, tag },
    existingSecret: 'tocsin-settings',
    settings: {
      PUBLIC_URL,
      DEFAULT_REGION: 'eu',
      REGIONS: 'eu,us',
      EGRESS_ALLOW_CIDRS: PRIVATE_NETWORKS,
      API_RATE_LIMIT_PER_MINUTE: 100_000,
      BOOTSTRAP_ADMIN_EMAIL: ADMIN_ENV.BOOTSTRAP_ADMIN_EMAIL,
    },
    certificates: { configMap: 'outside', webhookKey: 'ca.pem' },
    regions: { default: null, eu: {}, us: {} },
    networkPolicy: { checkerEgress: egress, notifierEgress: egress },
    api: service,
    notifier: service,
    checker: service,
  };
}

/** The chart and its stores, installed in a new namespace in the cluster that KUBECONFIG names. */
export class KubernetesSystem extends DeployedSystem {
  readonly apiKey = `tocsin_live_${randomBytes(24).toString('hex')}`;
  protected readonly postgres = 'deployment/postgres';
  readonly #namespace = `tocsin-test-${randomBytes(4).toString('hex')}`;
  readonly #options: KubernetesOptions;

  private constructor(options: KubernetesOptions, port: number, outsidePort: number) {
    super(port, outsidePort, PUBLIC_URL);
    this.#options = options;
  }

  /** Installs everything. The teardown deletes the namespace. Resolves when every pod is ready. */
  static async install(options: KubernetesOptions, teardown: Teardown): Promise<KubernetesSystem> {
    const system = new KubernetesSystem(options, await findFreePort(), await findFreePort());
    const namespace = system.#namespace;
    await teardown.start(system.#kubectl(['create', 'namespace', namespace]), () =>
      system.#kubectl(['delete', 'namespace', namespace, '--wait=false']),
    );
    await system.#helm('stores', STORES_CHART, READY_SECONDS, await storesValues(options, system.apiKey));
    await system.#deploy(options.from, 1);
    system.#forward(`service/${RELEASE}-api`, `${system.port}:80`, teardown);
    system.#forward('service/outside', `${system.outsidePort}:8080`, teardown);
    await system.untilListening();
    return system;
  }

  exec(part: string, command: readonly string[]): Promise<string> {
    return this.#kubectl(['exec', part, '--', ...command]);
  }

  /** Runs the image of the CLI as a pod. */
  async applyFile(): Promise<void> {
    const name = `cli-${randomBytes(4).toString('hex')}`;
    const container = {
      name: 'cli',
      image: `${this.#options.registry}/tocsin/cli:${this.#options.to}`,
      args: ['apply', '--yes', '--file', '/outside/tocsin.yaml'],
      env: [
        { name: 'TOCSIN_URL', value: `http://${RELEASE}-api` },
        { name: 'TOCSIN_API_KEY', value: this.apiKey },
      ],
      volumeMounts: [{ name: 'outside', mountPath: '/outside' }],
    };
    const volumes = [{ name: 'outside', configMap: { name: 'outside' } }];
    const spec = { restartPolicy: 'Never', containers: [container], volumes };
    const pod = { apiVersion: 'v1', kind: 'Pod', metadata: { name }, spec };
    await this.#kubectl(['apply', '--filename=-'], JSON.stringify(pod));
    const succeeded = '--for=jsonpath={.status.phase}=Succeeded';
    await this.#kubectl(['wait', `pod/${name}`, succeeded, '--timeout=60s']);
  }

  async services(): Promise<string[]> {
    return [...(await this.podsByNode()).values()].flat();
  }

  /** Returns the names of the release's running pods by node. Omits pods that are being deleted. */
  async podsByNode(): Promise<Map<string, string[]>> {
    const running = ['--field-selector=status.phase=Running', '--output', `jsonpath=${POD_COLUMNS}`];
    const lines = (await this.#kubectl(['get', 'pods', ...OF_RELEASE, ...running])).trim().split('\n');
    const nodes = new Map<string, string[]>();
    for (const line of lines) {
      const [name = '', node = '', deletion] = line.trim().split(' ');
      if (name !== '' && deletion === undefined) nodes.set(node, [...(nodes.get(node) ?? []), name]);
    }
    return nodes;
  }

  async replace(pod: string): Promise<void> {
    await this.#kubectl(['delete', 'pod', pod, '--wait=true']);
    await this.#untilReady();
  }

  async upgrade(): Promise<void> {
    await this.#deploy(this.#options.to, 2);
  }

  async #deploy(tag: string, rollout: number): Promise<void> {
    const values = chartValues(this.#options.registry, tag, rollout);
    await this.#helm(RELEASE, CHART, DEPLOY_SECONDS, values);
    await this.#untilReady();
  }

  /** Waits until every Deployment has its pods, and no old ones. */
  async #untilReady(): Promise<void> {
    await this.#kubectl(['rollout', 'status', 'deployment', ...OF_RELEASE, `--timeout=${READY_SECONDS}s`]);
  }

  /** Installs or upgrades a release. Resolves when it is ready. */
  async #helm(release: string, chart: string, timeoutSeconds: number, values: object): Promise<void> {
    const args = ['upgrade', '--install', release, chart, '--namespace', this.#namespace];
    await helm([...args, '--wait', `--timeout=${timeoutSeconds}s`], values, timeoutSeconds + 60);
  }

  /** Returns the output of `kubectl`. @throws ToolError */
  async #kubectl(args: readonly string[], input = ''): Promise<string> {
    return (await runTool('kubectl', ['--namespace', this.#namespace, ...args], { input })).stdout;
  }

  /** Forwards a local port, and forwards it again when the pod is gone. @param ports local and target port, such as `3000:80` */
  #forward(target: string, ports: string, teardown: Teardown): void {
    const stop = new AbortController();
    teardown.onStop(() => Promise.resolve(stop.abort()));
    const { signal } = stop;
    const args = ['--namespace', this.#namespace, 'port-forward', target, ports];
    const run = async (): Promise<void> => {
      while (!signal.aborted) {
        const child = spawn('kubectl', args, { stdio: ['ignore', 'ignore', 'pipe'], signal });
        child.stderr.on('data', (bytes) => {
          // kubectl keeps running after it loses its pod, and only prints an error.
          if (/lost connection to pod|error forwarding port/.test(String(bytes))) child.kill();
        });
        await once(child, 'exit').catch(() => undefined);
        await wait(FORWARD_AGAIN_MS);
      }
    };
    void run();
  }
}
