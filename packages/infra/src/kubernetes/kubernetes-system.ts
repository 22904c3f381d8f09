import { randomBytes } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { createCertificate } from '@tocsin/embedded/certificates';
import type { Teardown } from '@tocsin/embedded/program/teardown';
import { z } from 'zod';
import { CHART, helm } from '../helm.ts';
import { type DeployedSystem, OutsideClient, waitUntil } from '../rollout/deployed-system.ts';
import { Kubectl, type PortForward } from './kubectl.ts';

const OUTSIDE_PROGRAM = fileURLToPath(new URL('../../dist/rollout/outside.js', import.meta.url));
const RELEASE = 'tocsin';
const SECRET = 'tocsin-settings';
const OF_RELEASE = ['--selector', `app.kubernetes.io/instance=${RELEASE}`];
const PRIVATE_NETWORKS = '10.0.0.0/8,100.64.0.0/10,172.16.0.0/12,192.168.0.0/16,fc00::/7';
const PUBLIC_URL = 'http://tocsin.example';
const ADMIN = { email: 'admin@example.com', password: 'correct horse battery' };
const READY_SECONDS = 300;
const DEPLOY_SECONDS = 1_200;

export interface KubernetesOptions {
  /** Where the images `tocsin/<name>` are. */
  readonly registry: string;
  /** The tags of the images to install, and to upgrade to. */
  readonly from: string;
  readonly to: string;
  readonly postgresImage: string;
  readonly redisImage: string;
}

const podSchema = z.object({
  metadata: z.object({
    name: z.string(),
    labels: z.record(z.string(), z.string()),
    deletionTimestamp: z.string().optional(),
  }),
  spec: z.object({ nodeName: z.string().optional() }),
});
const deploymentSchema = z.object({
  metadata: z.object({ generation: z.number() }),
  spec: z.object({ replicas: z.number() }),
  status: z.object({
    observedGeneration: z.number().default(0),
    readyReplicas: z.number().default(0),
    updatedReplicas: z.number().default(0),
    replicas: z.number().default(0),
  }),
});
export type Pod = z.infer<typeof podSchema>;

/**
 * The values of the chart. It expects the Secret and the ConfigMap that `install` creates.
 * @param rollout another number replaces every pod, even where the tag stays the same
 */
export function chartValues(registry: string, tag: string, rollout: number): object {
  const service = {
    podAnnotations: { 'rollout-test': String(rollout) },
    // So that a cluster on one small machine has room for the pods of two versions.
    resources: { requests: { cpu: '50m' } },
  };
  // Some network plugins do not match pods by address, so EGRESS_ALLOW_CIDRS alone does not open the way.
  const egress = [{ to: [{ podSelector: { matchLabels: { 'rollout-test': 'outside' } } }] }];
  return {
    image: { registry, tag },
    existingSecret: SECRET,
    settings: {
      PUBLIC_URL,
      DEFAULT_REGION: 'eu',
      REGIONS: 'eu,us',
      EGRESS_ALLOW_CIDRS: PRIVATE_NETWORKS,
      API_RATE_LIMIT_PER_MINUTE: 100_000,
      BOOTSTRAP_ADMIN_EMAIL: ADMIN.email,
    },
    certificates: { configMap: 'outside', webhookKey: 'ca.pem' },
    regions: { default: null, eu: {}, us: {} },
    networkPolicy: { checkerEgress: egress, notifierEgress: egress },
    api: service,
    notifier: service,
    checker: service,
  };
}

/** The chart, installed with stores of its own in a new namespace. */
export class KubernetesSystem implements DeployedSystem {
  readonly publicUrl = PUBLIC_URL;
  readonly apiKey = `tocsin_live_${randomBytes(24).toString('hex')}`;
  readonly admin = ADMIN;
  readonly outside: OutsideClient;
  readonly kubectl: Kubectl;
  readonly #options: KubernetesOptions;
  #api: PortForward | undefined;
  #outsidePort: PortForward | undefined;
  #upgrades = 0;

  private constructor(kubectl: Kubectl, options: KubernetesOptions) {
    this.kubectl = kubectl;
    this.#options = options;
    this.outside = new OutsideClient(() => `http://127.0.0.1:${this.#outsidePort?.port ?? 0}`);
  }

  /** Installs everything. The teardown deletes the namespace. Resolves when every pod is ready. */
  static async install(options: KubernetesOptions, teardown: Teardown): Promise<KubernetesSystem> {
    const kubectl = new Kubectl(`tocsin-test-${randomBytes(4).toString('hex')}`);
    const system = new KubernetesSystem(kubectl, options);
    await teardown.start(kubectl.run(['create', 'namespace', kubectl.namespace]), () =>
      kubectl.run(['delete', 'namespace', kubectl.namespace, '--wait=false']),
    );
    await system.#installStores();
    await system.#deploy(options.from);
    system.#api = await teardown.start(kubectl.forward(`service/${RELEASE}-api`, 80), (one) => one.close());
    system.#outsidePort = await teardown.start(kubectl.forward('service/outside', 8080), (one) =>
      one.close(),
    );
    return system;
  }

  get port(): number {
    return this.#api?.port ?? 0;
  }

  async query(sql: string): Promise<unknown> {
    const wrapped = `select coalesce(json_agg(rows), '[]') from (${sql}) as rows`;
    const password = 'PGPASSWORD="$POSTGRES_PASSWORD"';
    const psql = `${password} psql --host=127.0.0.1 --username=tocsin --dbname=tocsin -At -c "$1"`;
    return JSON.parse(await this.exec('deployment/postgres', ['sh', '-c', psql, 'sh', wrapped])) as unknown;
  }

  exec(part: string, command: readonly string[]): Promise<string> {
    return this.kubectl.run(['exec', part, '--', ...command]);
  }

  /** Runs the image of the CLI as a pod. */
  async apply(yaml: string): Promise<string> {
    const name = `cli-${randomBytes(4).toString('hex')}`;
    await this.kubectl.apply(
      { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name }, data: { 'tocsin.yaml': yaml } },
      {
        apiVersion: 'v1',
        kind: 'Pod',
        metadata: { name },
        spec: {
          restartPolicy: 'Never',
          containers: [
            {
              name: 'cli',
              image: `${this.#options.registry}/tocsin/cli:${this.#options.to}`,
              args: ['apply', '--yes', '--file', '/files/tocsin.yaml'],
              env: [
                { name: 'TOCSIN_URL', value: `http://${RELEASE}-api` },
                { name: 'TOCSIN_API_KEY', value: this.apiKey },
              ],
              volumeMounts: [{ name: 'files', mountPath: '/files' }],
            },
          ],
          volumes: [{ name: 'files', configMap: { name } }],
        },
      },
    );
    await this.kubectl.run([
      'wait',
      `pod/${name}`,
      '--for=jsonpath={.status.phase}=Succeeded',
      '--timeout=60s',
    ]);
    return this.kubectl.run(['logs', name]);
  }

  /** The pods of the release that run and are not being deleted. */
  async pods(): Promise<Pod[]> {
    const pods = await this.kubectl.list(podSchema, [
      'pods',
      ...OF_RELEASE,
      '--field-selector=status.phase=Running',
    ]);
    return pods.filter(({ metadata }) => metadata.deletionTimestamp === undefined);
  }

  async replace(pod: string): Promise<void> {
    await this.kubectl.run(['delete', 'pod', pod, '--wait=true']);
    await this.#untilReady();
  }

  async upgrade(): Promise<void> {
    await this.#deploy(this.#options.to);
  }

  async #installStores(): Promise<void> {
    const { postgresImage, redisImage, registry, from } = this.#options;
    const [postgresPassword, redisPassword] = [
      randomBytes(24).toString('hex'),
      randomBytes(24).toString('hex'),
    ];
    const { ca, key, cert } = await createCertificate(['outside']);
    const outsideFiles = {
      'outside.mjs': await readFile(OUTSIDE_PROGRAM, 'utf8'),
      'ca.pem': ca,
      'key.pem': key,
      'cert.pem': cert,
    };
    await this.kubectl.apply(
      ...storeObjects({
        postgresImage,
        redisImage,
        nodeImage: `${registry}/tocsin/checker:${from}`,
        postgresPassword,
        redisPassword,
        outsideFiles,
      }),
      {
        apiVersion: 'v1',
        kind: 'Secret',
        metadata: { name: SECRET },
        stringData: {
          DATABASE_URL: `postgres://tocsin:${postgresPassword}@postgres:5432/tocsin`,
          QUEUE_URL: `redis://:${redisPassword}@redis:6379`,
          SECRETS_KEY: randomBytes(32).toString('base64'),
          BOOTSTRAP_API_KEY: this.apiKey,
          BOOTSTRAP_ADMIN_PASSWORD: ADMIN.password,
        },
      },
    );
    await this.kubectl.run([
      'wait',
      'deployment',
      '--all',
      '--for=condition=Available',
      `--timeout=${READY_SECONDS}s`,
    ]);
  }

  async #deploy(tag: string): Promise<void> {
    this.#upgrades += 1;
    const values = chartValues(this.#options.registry, tag, this.#upgrades);
    const args = ['upgrade', '--install', RELEASE, CHART, '--namespace', this.kubectl.namespace];
    const command = [...args, '--values', '-', '--wait', '--timeout', `${DEPLOY_SECONDS}s`];
    await helm(command, JSON.stringify(values), DEPLOY_SECONDS + 60);
    await this.#untilReady();
  }

  async #untilReady(): Promise<void> {
    await waitUntil('every Deployment to be ready', READY_SECONDS, async () => {
      const deployments = await this.kubectl.list(deploymentSchema, ['deployments', ...OF_RELEASE]);
      return deployments.every(
        ({ metadata, spec, status }) =>
          status.observedGeneration >= metadata.generation &&
          status.updatedReplicas === spec.replicas &&
          status.readyReplicas === spec.replicas &&
          status.replicas === spec.replicas,
      );
    });
  }
}

/** PostgreSQL, Redis, and the pod with targets and the receiver: what a test installs beside the chart. */
export interface StoresOptions {
  readonly postgresImage: string;
  readonly redisImage: string;
  /** An image with Node.js. */
  readonly nodeImage: string;
  readonly postgresPassword: string;
  readonly redisPassword: string;
  /** The files of the folder that `outside.ts` reads. */
  readonly outsideFiles: Readonly<Record<string, string>>;
}

/** The objects to apply. Their data live as long as their pods. */
export function storeObjects(options: StoresOptions): object[] {
  return [
    ...server('postgres', [5432], {
      image: options.postgresImage,
      env: [
        { name: 'POSTGRES_USER', value: 'tocsin' },
        { name: 'POSTGRES_DB', value: 'tocsin' },
        { name: 'POSTGRES_PASSWORD', value: options.postgresPassword },
      ],
      readinessProbe: {
        exec: { command: ['pg_isready', '--username=tocsin', '--dbname=tocsin', '--host=127.0.0.1'] },
        periodSeconds: 2,
      },
    }),
    ...server('redis', [6379], {
      image: options.redisImage,
      command: ['redis-server'],
      args: ['--maxmemory-policy', 'noeviction', '--requirepass', options.redisPassword],
      readinessProbe: { tcpSocket: { port: 6379 }, periodSeconds: 2 },
    }),
    { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'outside' }, data: options.outsideFiles },
    ...server(
      'outside',
      [8080, 8443],
      {
        image: options.nodeImage,
        command: ['node', '/outside/outside.mjs'],
        volumeMounts: [{ name: 'outside', mountPath: '/outside', readOnly: true }],
        readinessProbe: { httpGet: { path: '/log', port: 8080 }, periodSeconds: 2 },
      },
      [{ name: 'outside', configMap: { name: 'outside' } }],
    ),
  ];
}

/** A Deployment of one pod, and its Service of the same name. */
function server(
  name: string,
  ports: readonly number[],
  container: object,
  volumes: readonly object[] = [],
): object[] {
  const labels = { 'rollout-test': name };
  return [
    {
      apiVersion: 'apps/v1',
      kind: 'Deployment',
      metadata: { name },
      spec: {
        replicas: 1,
        strategy: { type: 'Recreate' },
        selector: { matchLabels: labels },
        template: {
          metadata: { labels },
          spec: { containers: [{ name, ...container }], volumes },
        },
      },
    },
    {
      apiVersion: 'v1',
      kind: 'Service',
      metadata: { name },
      spec: { selector: labels, ports: ports.map((port) => ({ name: `port-${port}`, port })) },
    },
  ];
}
