import { randomBytes } from 'node:crypto';
import { createCertificate } from '@tocsin/embedded/certificates';
import type { Teardown } from '@tocsin/embedded/program/teardown';
import { z } from 'zod';
import { CHART, helm } from '../helm.ts';
import { readOutsideProgram } from '../repository.ts';
import { ADMIN, DeployedSystem, untilReachable } from '../rollout/deployed-system.ts';
import { Kubectl, type PortForward } from './kubectl.ts';

/** A chart with PostgreSQL, Redis, `outside.ts`, and the Secret and ConfigMap that Tocsin's chart expects. */
export const STORES_CHART = 'packages/infra/stores';
const RELEASE = 'tocsin';
const OF_RELEASE = ['--selector', `app.kubernetes.io/instance=${RELEASE}`];
const PRIVATE_NETWORKS = '10.0.0.0/8,100.64.0.0/10,172.16.0.0/12,192.168.0.0/16,fc00::/7';
const PUBLIC_URL = 'http://tocsin.example';
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
  metadata: z.object({ name: z.string(), deletionTimestamp: z.string().optional() }),
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

/** The values of the stores' chart. */
export async function storesValues(
  { postgresImage, redisImage, registry, from }: KubernetesOptions,
  apiKey: string,
): Promise<object> {
  const [postgresPassword, redisPassword] = [
    randomBytes(24).toString('hex'),
    randomBytes(24).toString('hex'),
  ];
  const { ca, key, cert } = await createCertificate(['outside']);
  return {
    images: { postgres: postgresImage, redis: redisImage, outside: `${registry}/tocsin/checker:${from}` },
    outsideFiles: {
      'outside.mjs': await readOutsideProgram(),
      'ca.pem': ca,
      'key.pem': key,
      'cert.pem': cert,
    },
    settings: {
      POSTGRES_PASSWORD: postgresPassword,
      REDIS_PASSWORD: redisPassword,
      DATABASE_URL: `postgres://tocsin:${postgresPassword}@postgres:5432/tocsin`,
      QUEUE_URL: `redis://:${redisPassword}@redis:6379`,
      SECRETS_KEY: randomBytes(32).toString('base64'),
      BOOTSTRAP_API_KEY: apiKey,
      BOOTSTRAP_ADMIN_PASSWORD: ADMIN.password,
    },
  };
}

/**
 * The values of Tocsin's chart.
 * @param rollout another number replaces every pod, even if the tag stays the same
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
    existingSecret: 'tocsin-settings',
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
export class KubernetesSystem extends DeployedSystem {
  readonly publicUrl = PUBLIC_URL;
  readonly apiKey = `tocsin_live_${randomBytes(24).toString('hex')}`;
  readonly kubectl: Kubectl;
  protected readonly postgres = 'deployment/postgres';
  readonly #options: KubernetesOptions;
  #api: PortForward | undefined;
  #outside: PortForward | undefined;
  #rollouts = 0;

  private constructor(kubectl: Kubectl, options: KubernetesOptions) {
    super();
    this.kubectl = kubectl;
    this.#options = options;
  }

  /** Installs everything. The teardown deletes the namespace. Resolves when every pod is ready. */
  static async install(options: KubernetesOptions, teardown: Teardown): Promise<KubernetesSystem> {
    const kubectl = new Kubectl(`tocsin-test-${randomBytes(4).toString('hex')}`);
    const system = new KubernetesSystem(kubectl, options);
    const { namespace } = kubectl;
    await teardown.start(kubectl.run(['create', 'namespace', namespace]), () =>
      kubectl.run(['delete', 'namespace', namespace, '--wait=false']),
    );
    await system.#helm('stores', STORES_CHART, READY_SECONDS, await storesValues(options, system.apiKey));
    await system.#deploy(options.from);
    const forward = (target: string, port: number): Promise<PortForward> =>
      teardown.start(kubectl.forward(target, port), (one) => one.close());
    system.#api = await forward(`service/${RELEASE}-api`, 80);
    system.#outside = await forward('service/outside', 8080);
    return system;
  }

  get port(): number {
    return this.#api?.port ?? 0;
  }

  protected get outsidePort(): number {
    return this.#outside?.port ?? 0;
  }

  exec(part: string, command: readonly string[]): Promise<string> {
    return this.kubectl.run(['exec', part, '--', ...command]);
  }

  /** Runs the image of the CLI as a pod. */
  async apply(yaml: string): Promise<void> {
    const name = `cli-${randomBytes(4).toString('hex')}`;
    const metadata = { name };
    const container = {
      name: 'cli',
      image: `${this.#options.registry}/tocsin/cli:${this.#options.to}`,
      args: ['apply', '--yes', '--file', '/files/tocsin.yaml'],
      env: [
        { name: 'TOCSIN_URL', value: `http://${RELEASE}-api` },
        { name: 'TOCSIN_API_KEY', value: this.apiKey },
      ],
      volumeMounts: [{ name: 'files', mountPath: '/files' }],
    };
    const volumes = [{ name: 'files', configMap: metadata }];
    const spec = { restartPolicy: 'Never', containers: [container], volumes };
    await this.kubectl.apply(
      { apiVersion: 'v1', kind: 'ConfigMap', metadata, data: { 'tocsin.yaml': yaml } },
      { apiVersion: 'v1', kind: 'Pod', metadata, spec },
    );
    const succeeded = '--for=jsonpath={.status.phase}=Succeeded';
    await this.kubectl.run(['wait', `pod/${name}`, succeeded, '--timeout=60s']);
  }

  /** The pods of the release that run and are not being deleted. */
  async pods(): Promise<Pod[]> {
    const running = '--field-selector=status.phase=Running';
    const pods = await this.kubectl.list(podSchema, ['pods', ...OF_RELEASE, running]);
    return pods.filter(({ metadata }) => metadata.deletionTimestamp === undefined);
  }

  async replace(pod: string): Promise<void> {
    await this.kubectl.run(['delete', 'pod', pod, '--wait=true']);
    await this.#untilReady();
  }

  async upgrade(): Promise<void> {
    await this.#deploy(this.#options.to);
  }

  async #deploy(tag: string): Promise<void> {
    this.#rollouts += 1;
    const values = chartValues(this.#options.registry, tag, this.#rollouts);
    await this.#helm(RELEASE, CHART, DEPLOY_SECONDS, values);
    await this.#untilReady();
  }

  /** Installs or upgrades a release. Resolves when it is ready. */
  async #helm(release: string, chart: string, timeoutSeconds: number, values: object): Promise<void> {
    const args = ['upgrade', '--install', release, chart, '--namespace', this.kubectl.namespace];
    const options = ['--values', '-', '--wait', '--timeout', `${timeoutSeconds}s`];
    await helm([...args, ...options], JSON.stringify(values), timeoutSeconds + 60);
  }

  async #untilReady(): Promise<void> {
    await untilReachable('every Deployment to be ready', READY_SECONDS, async () => {
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
