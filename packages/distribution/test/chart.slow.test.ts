import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { beforeAll, describe, expect, test } from '@jest/globals';
import { CHART, packageChart } from '@tocsin/distribution/helm';
import { runTool } from '@tocsin/distribution/run-tool';
import { readRepositoryFile, ROOT } from '@tocsin/distribution/repository';
import { settings } from '@tocsin/runtime/settings';
import { EXTRA_ENV, MINIMAL, VARIANTS } from './chart-variants.ts';
import {
  findManifest,
  findPod,
  findProblems,
  isSelected,
  podsOf,
  readManifests,
  type Manifest,
} from './manifests.ts';
import { lintChart, renderChart, renderManifests } from './render-chart.ts';

/** The settings of the services, a variable of Node.js, and the variables that a variant adds. */
const KNOWN = new Set([
  ...Object.keys(settings.shape),
  'NODE_EXTRA_CA_CERTS',
  ...EXTRA_ENV.map(({ name }) => name),
]);
const REQUIRED = ['DATABASE_URL', 'QUEUE_URL', 'SECRETS_KEY'];
const REQUIRED_BY: Readonly<Record<string, readonly string[]>> = {
  migrate: REQUIRED.slice(0, 2),
  agent: ['TOCSIN_URL', 'AGENT_TOKEN'],
  operator: ['TOCSIN_URL', 'TOCSIN_API_KEY', 'CLUSTER_NAME'],
};
/** A service exits at the latest after this time (packages/runtime/src/service.ts). */
const HARD_EXIT_SECONDS = 30;

const ALL = VARIANTS['everything on'];

describe.each(Object.entries(VARIANTS))('the chart, %s', (_name, values) => {
  let manifests: Manifest[];
  beforeAll(async () => {
    manifests = await renderManifests(values);
  });

  test('passes helm lint, and renders manifests that match their schemas, without unknown keys', async () => {
    expect(await lintChart(values)).toContain('0 chart(s) failed');
    expect(await findProblems(manifests)).toEqual([]);
    expect(manifests.length).toBeGreaterThan(4);
    const names = manifests.map(
      ({ kind, metadata: { namespace = '', name } }) => `${kind} ${namespace}/${name}`,
    );
    expect(names.filter((name, at) => names.indexOf(name) !== at)).toEqual([]);
  });

  test('runs every pod under the restricted pod security standard', () => {
    const pods = podsOf(manifests);
    expect(pods.length).toBeGreaterThan(0);
    for (const { name, spec } of pods) {
      expect({ name, ...spec }).toMatchObject({
        name,
        automountServiceAccountToken: name.endsWith('-operator'),
        securityContext: { runAsNonRoot: true, seccompProfile: { type: 'RuntimeDefault' } },
      });
      for (const key of ['hostNetwork', 'hostPID', 'hostIPC']) expect(spec).not.toHaveProperty(key);
      const ids = JSON.stringify(spec).match(/runAsUser|runAsGroup|fsGroup|supplementalGroups/g) ?? [];
      expect(ids).toEqual(values === VARIANTS.OpenShift ? [] : ['runAsUser', 'runAsGroup']);
      for (const { securityContext, resources } of spec.containers) {
        expect(securityContext).toEqual({
          allowPrivilegeEscalation: false,
          readOnlyRootFilesystem: true,
          capabilities: { drop: ['ALL'] },
        });
        expect(resources).toMatchObject({ requests: { memory: expect.any(String) } });
      }
    }
  });

  test('gives services only known settings, all required ones, and secrets from a Secret', () => {
    for (const { metadata, spec } of podsOf(manifests)) {
      const [{ env, envFrom }] = spec.containers;
      const data = envFrom ? (findManifest(manifests, 'ConfigMap')['data'] as object) : {};
      const names = [...Object.keys(data), ...env.map((variable) => variable.name)];
      expect(names.filter((each) => !KNOWN.has(each))).toEqual([]);
      // The second of two variables with one name would silently replace the first.
      expect(names.filter((each, at) => names.indexOf(each) !== at)).toEqual([]);
      const needed = REQUIRED_BY[metadata.labels['app.kubernetes.io/component'] ?? ''] ?? REQUIRED;
      expect(names).toEqual(expect.arrayContaining([...needed]));
      const secret =
        /^(?:DATABASE_URL|DATABASE_DIRECT_URL|QUEUE_URL|OTEL_EXPORTER_OTLP_HEADERS|OPERATOR_WEBHOOK_URL)$/;
      for (const { name: variable, valueFrom } of env)
        expect({ variable, fromSecret: valueFrom?.secretKeyRef !== undefined }).toEqual({
          variable,
          fromSecret: secret.test(variable) || /PASSWORD|SECRET|TOKEN|_KEY$/.test(variable),
        });
    }
  });

  test('gives services the time to stop, and probes the port that they listen on', () => {
    for (const { kind, spec } of podsOf(manifests)) {
      if (kind !== 'Deployment') continue;
      const [container] = spec.containers;
      const pause = Number(container.lifecycle?.preStop.exec.command[1] ?? 0);
      expect(spec.terminationGracePeriodSeconds).toBeGreaterThanOrEqual(HARD_EXIT_SECONDS + pause + 5);
      const port = container.ports?.[0]?.name;
      // An api without its queue still serves reads and changes.
      const readiness = port === 'http' ? '/readyz?exclude=queue' : '/readyz';
      expect(container).toMatchObject({
        startupProbe: { httpGet: { path: '/healthz', port } },
        livenessProbe: { httpGet: { path: '/healthz', port } },
        readinessProbe: { httpGet: { path: readiness, port } },
      });
    }
  });

  // The scheduler ignores all soft constraints on a node without the label of one of them, and many nodes have no zone.
  test('spreads pods over nodes by a label that every node has', () => {
    for (const { kind, spec } of podsOf(manifests)) {
      if (kind !== 'Deployment') continue;
      expect(spec).toMatchObject({
        topologySpreadConstraints: [{ topologyKey: 'kubernetes.io/hostname' }],
        affinity: {
          podAntiAffinity: {
            preferredDuringSchedulingIgnoredDuringExecution: [
              { podAffinityTerm: { topologyKey: 'topology.kubernetes.io/zone' } },
            ],
          },
        },
      });
    }
  });

  test('selects the pods of one component with each selector', () => {
    for (const { kind, metadata, spec } of manifests) {
      if (!['Service', 'Deployment', 'PodDisruptionBudget', 'NetworkPolicy'].includes(kind)) continue;
      const { selector, podSelector } = spec as Record<string, { matchLabels?: Record<string, string> }>;
      const labels = kind === 'Service' ? selector : (selector ?? podSelector)?.matchLabels;
      const found = podsOf(manifests).filter((pod) => isSelected(pod, labels as Record<string, string>));
      const components = found.map((pod) => pod.metadata.labels['app.kubernetes.io/component']);
      const component = metadata.labels?.['app.kubernetes.io/component'];
      expect([kind, metadata.name, ...new Set(components)]).toEqual([kind, metadata.name, component]);
    }
  });
});

describe('the values of pods', () => {
  test('reach the Deployments and the Job', async () => {
    const manifests = await renderManifests(ALL);
    expect(podsOf(manifests)).toHaveLength(8);
    for (const { kind, name, ...pod } of podsOf(manifests)) {
      const { annotations } = findManifest(manifests, kind, name).metadata;
      expect(annotations).toMatchObject({ 'example.com/owner': 'platform' });
      expect({ name, ...pod }).toMatchObject({
        name,
        metadata: {
          annotations: { 'example.com/team': 'platform' },
          labels: { 'sidecar.istio.io/inject': 'false' },
        },
        spec: {
          nodeSelector: { pool: 'general' },
          tolerations: [{ key: 'dedicated', operator: 'Exists' }],
          affinity: { nodeAffinity: expect.anything() },
          priorityClassName: 'high',
          containers: [{ env: expect.arrayContaining(EXTRA_ENV) }],
        },
      });
    }
    // Labels for a region are merged with the labels for all checkers.
    const { labels } = findPod(manifests, 'up-tocsin-checker-us').metadata;
    expect(labels).toHaveProperty(['example.com/region'], 'us');
  });
});

test('images are pinned by their digest, or named by the tag without one', async () => {
  const images = podsOf(await renderManifests(ALL)).map(({ name, spec }) => [name, spec.containers[0].image]);
  const registry = 'registry.example.com:5000/mirror/tocsin';
  expect(Object.fromEntries(images)).toEqual({
    'up-tocsin-api': `${registry}/api@sha256:${'a'.repeat(64)}`,
    'up-tocsin-migrate': `${registry}/migrate@sha256:${'b'.repeat(64)}`,
    'up-tocsin-notifier': `${registry}/notifier:1.2.3`,
    'up-tocsin-gateway': `${registry}/checker:1.2.3`,
    'up-tocsin-agent': `${registry}/agent:1.2.3`,
    'up-tocsin-operator': `${registry}/operator:1.2.3`,
    'up-tocsin-checker-eu': `${registry}/checker:1.2.3`,
    'up-tocsin-checker-us': `${registry}/checker:1.2.3`,
  });
});

test('regions have a Deployment each, with their own values', async () => {
  const manifests = await renderManifests(VARIANTS['several regions']);
  for (const [region, concurrency] of Object.entries({ 'eu-west-1': '500', 'us-east-1': '200' })) {
    const { env } = findPod(manifests, `up-tocsin-checker-${region}`).spec.containers[0];
    const values = [
      { name: 'REGION', value: region },
      { name: 'CHECK_CONCURRENCY', value: concurrency },
    ];
    expect(env).toEqual(expect.arrayContaining(values));
  }
  expect(podsOf(manifests).map(({ name }) => name)).not.toContain('up-tocsin-checker-default');
});

describe('a HorizontalPodAutoscaler', () => {
  test('scales gateways, and the checkers of a region by its own values', async () => {
    const manifests = await renderManifests(VARIANTS['HorizontalPodAutoscalers']);
    const gateways = findManifest(manifests, 'HorizontalPodAutoscaler', 'up-tocsin-gateway');
    expect(gateways['spec']).toMatchObject({
      scaleTargetRef: { name: 'up-tocsin-gateway' },
      maxReplicas: 10,
    });
    const name = 'up-tocsin-checker-eu';
    const cpu = { name: 'cpu', target: { type: 'AverageValue', averageValue: '0.8' } };
    expect(findManifest(manifests, 'HorizontalPodAutoscaler', name)['spec']).toEqual({
      scaleTargetRef: { apiVersion: 'apps/v1', kind: 'Deployment', name },
      minReplicas: 2,
      maxReplicas: 30,
      metrics: [{ type: 'Resource', resource: cpu }],
      behavior: { scaleDown: { stabilizationWindowSeconds: 300 } },
    });
  });

  test.each(['HorizontalPodAutoscalers', 'everything on'] as const)(
    'or KEDA alone decides the number of checkers and gateways (%s)',
    async (variant) => {
      const manifests = await renderManifests(VARIANTS[variant]);
      const fixed = manifests.filter(
        ({ kind, spec }) => kind === 'Deployment' && 'replicas' in (spec as object),
      );
      const names = fixed
        .map(({ metadata }) => metadata.name)
        .filter((name) => !/-(agent|operator)$/.test(name));
      expect(names.toSorted()).toEqual(['up-tocsin-api', 'up-tocsin-notifier']);
    },
  );
});

test('the ConfigMap has the settings as written, and those that follow from Ingress', async () => {
  const { data } = findManifest(await renderManifests(ALL), 'ConfigMap', 'up-tocsin');
  expect(data).toMatchObject({
    API_RATE_LIMIT_PER_MINUTE: '1000000',
    LOG_FORMAT: 'json',
    PUBLIC_URL: 'https://up.example.com',
    TRUST_PROXY: '1',
  });
});

describe('the migration', () => {
  const POLICY = 'up-tocsin-migrate-job';

  test('runs after its network policy and its Secret, which are hooks too', async () => {
    const manifests = await renderManifests(VARIANTS['secrets in the values']);
    const [job, ...earlier] = [
      findManifest(manifests, 'Job'),
      findManifest(manifests, 'NetworkPolicy', POLICY),
      findManifest(manifests, 'Secret', 'up-tocsin-migrate'),
    ].map(({ metadata }) => metadata.annotations ?? {});
    for (const each of [job, ...earlier]) expect(each?.['helm.sh/hook']).toBe('pre-install,pre-upgrade');
    for (const each of earlier)
      expect(Number(each['helm.sh/hook-weight'])).toBeLessThan(Number(job?.['helm.sh/hook-weight']));
    // The policy stays if Helm times out, and the next run replaces it.
    expect(earlier[0]?.['helm.sh/hook-delete-policy']).toBe('before-hook-creation');
    // Earlier charts had a policy with this name that was no hook. On an upgrade, Helm deletes it after the hooks have run.
    expect(() => findManifest(manifests, 'NetworkPolicy', 'up-tocsin-migrate')).toThrow('there is no');
  });

  test('is not selected by a kept policy once network policies are disabled', async () => {
    const manifests = await renderManifests(MINIMAL);
    const without = await renderManifests({ ...MINIMAL, networkPolicy: { enabled: false } });
    const { podSelector } = findManifest(manifests, 'NetworkPolicy', POLICY)['spec'] as {
      podSelector: { matchLabels: Record<string, string> };
    };
    const selected = [manifests, without].map((all) =>
      isSelected(findPod(all, 'up-tocsin-migrate'), podSelector.matchLabels),
    );
    expect(selected).toEqual([true, false]);
    expect(without.map(({ kind }) => kind)).not.toContain('NetworkPolicy');
  });

  test('may connect to PostgreSQL, the queue and the targets of migrateEgress', async () => {
    expect(findManifest(await renderManifests(ALL), 'NetworkPolicy', POLICY)['spec']).toMatchObject({
      ingress: [],
      egress: [
        { ports: [{ port: 53 }, { port: 53 }] },
        { ports: [{ port: 6432 }], to: [{ namespaceSelector: { matchLabels: { name: 'data' } } }] },
        { ports: [{ port: 6380 }], to: [{ ipBlock: { cidr: '10.9.0.0/24' } }] },
        { ports: [{ port: 5432 }] },
      ],
    });
  });
});

test('the network policy opens the private ranges of EGRESS_ALLOW_CIDRS', async () => {
  const policy = findManifest(await renderManifests(ALL), 'NetworkPolicy', 'up-tocsin-checker');
  const ranges = ['10.2.0.0/16', '10.3.4.5/32', 'fd00::1/128'].map((cidr) => ({ ipBlock: { cidr } }));
  expect(policy['spec']).toMatchObject({ egress: expect.arrayContaining([{ to: ranges }]) });
});

describe('an agent', () => {
  test('reaches its proxy or Tocsin, and its own private ranges, but no store', async () => {
    const ranges = ['10.4.0.0/16', '10.5.6.7/32'].map((cidr) => ({ ipBlock: { cidr } }));
    const policy = findManifest(await renderManifests(ALL), 'NetworkPolicy', 'up-tocsin-agent');
    expect(policy['spec']).toMatchObject({
      egress: [
        { ports: [{ port: 53 }, { port: 53 }] },
        { ports: [{ port: 3128 }], to: [{ ipBlock: { cidr: '10.8.0.1/32' } }] },
        { to: [{ ipBlock: { cidr: '0.0.0.0/0' } }, { ipBlock: { cidr: '2000::/3' } }] },
        { to: ranges },
        { to: [{ podSelector: {} }] },
      ],
    });
  });

  test('needs nothing else in its cluster', async () => {
    const manifests = await renderManifests(VARIANTS['a cluster that only runs agents']);
    expect(manifests.map(({ kind, metadata }) => `${kind} ${metadata.name}`).toSorted()).toEqual([
      'Deployment up-tocsin-agent',
      'NetworkPolicy up-tocsin-agent',
      'PodDisruptionBudget up-tocsin-agent',
      'Service up-tocsin-agent',
      'ServiceAccount up-tocsin',
    ]);
    const policy = findManifest(manifests, 'NetworkPolicy')['spec'];
    expect(policy).toMatchObject({ egress: expect.arrayContaining([{ ports: [{ port: 443 }] }]) });
  });
});

describe('an operator', () => {
  const rulesOf = ({ rules }: Manifest): string[] =>
    (rules as { resources: string[]; verbs: string[] }[]).map(
      ({ resources, verbs }) => `${verbs.join(',')} ${resources.join(',')}`,
    );

  test('may read its kinds and single Secrets, and write nothing but statuses and Events', async () => {
    const manifests = await renderManifests(ALL);
    expect(rulesOf(findManifest(manifests, 'ClusterRole', 'monitoring-up-tocsin-operator'))).toEqual([
      'get,list,watch monitors,channels',
      'patch monitors/status,channels/status',
      'get,list,watch ingresses,ingressclasses',
      'get,list,watch httproutes,gateways',
      'get,list,watch services,namespaces',
      'get secrets',
      'create events',
    ]);
    expect(
      findManifest(manifests, 'CustomResourceDefinition', 'monitors.tocsin.dev').metadata.annotations,
    ).toEqual({
      'helm.sh/resource-policy': 'keep',
    });
    expect(findManifest(manifests, 'NetworkPolicy', 'up-tocsin-operator')['spec']).toMatchObject({
      egress: [
        { ports: [{ port: 53 }, { port: 53 }] },
        { ports: [{ port: 443 }, { port: 6443 }] },
        { ports: [{ port: 3000 }] },
      ],
    });
  });

  test('of some namespaces has Roles in them instead of a ClusterRole', async () => {
    const manifests = await renderManifests(VARIANTS['an operator of two namespaces']);
    const roles = manifests.filter(
      ({ kind, metadata }) => kind === 'Role' && metadata.name === 'up-tocsin-operator',
    );
    expect(roles.map(({ metadata }) => metadata.namespace)).toEqual(['shop', 'cart']);
    expect(rulesOf(roles[0] as Manifest)).toContain('get,list,watch services');
    expect(manifests.map(({ kind }) => kind)).not.toContain('ClusterRole');
  });
});

test('Ingress and HTTPRoute route agents to the gateway', async () => {
  const manifests = await renderManifests(ALL);
  expect(findManifest(manifests, 'Ingress')['spec']).toMatchObject({
    rules: [
      {
        http: {
          paths: [
            { path: '/api/agent', pathType: 'Exact', backend: { service: { name: 'up-tocsin-gateway' } } },
            { path: '/', backend: { service: { name: 'up-tocsin-api' } } },
          ],
        },
      },
    ],
  });
  expect(findManifest(manifests, 'HTTPRoute')['spec']).toMatchObject({
    rules: [
      {
        matches: [{ path: { type: 'Exact', value: '/api/agent' } }],
        backendRefs: [{ name: 'up-tocsin-gateway', port: 8080 }],
      },
      { backendRefs: [{ name: 'up-tocsin-api' }] },
    ],
  });
});

test('the alerting rules of the services are part of the chart, with a prefix for the links to runbooks', async () => {
  const base = 'https://git.example.com/tocsin/';
  const values = { ...MINIMAL, prometheusRule: { enabled: true, runbookBase: base } };
  const rules = findManifest(await renderManifests(values), 'PrometheusRule')['spec'];
  const text = await readRepositoryFile(`${CHART}/files/tocsin.rules.yaml`);
  const [expected] = readManifests(text.replaceAll('runbook_url: ', `runbook_url: ${base}`));
  expect(rules).toEqual(expected);
});

test('the package has the files of the chart and no others, and renders the same manifests', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'tocsin-chart-'));
  try {
    const archive = await packageChart(folder);
    const entries = await readdir(join(ROOT, CHART), { recursive: true, withFileTypes: true });
    const expected = entries
      .filter((entry) => !entry.isDirectory())
      .map((entry) => `- tocsin/${relative(join(ROOT, CHART), join(entry.parentPath, entry.name))}`);
    const { stdout } = await runTool('tar', ['-tvzf', archive]);
    const packed = stdout
      .trim()
      .split('\n')
      .map((line) => `${line.charAt(0)} ${line.split(' ').at(-1)}`);
    // Argo CD and registries refuse links that leave the chart.
    expect(packed.toSorted()).toEqual(expected.toSorted());
    const files = await readdir(join(ROOT, CHART), { recursive: true });
    const kinds =
      /^(?:\.helmignore|(?:Chart|values)\.yaml|values\.schema\.json|README\.md|(?:templates|files)(?:\/.*)?)$/;
    expect(files.filter((path) => !kinds.test(path))).toEqual([]);
    expect(await renderChart(ALL, archive)).toBe(await renderChart(ALL));
  } finally {
    await rm(folder, { recursive: true });
  }
});

describe('the examples', () => {
  test.each(['argocd-application', 'apply-monitors'])('%s matches its schemas', async (name) => {
    const manifests = readManifests(await readRepositoryFile(`infra/examples/${name}.yaml`));
    expect(manifests.length).toBeGreaterThan(0);
    expect(await findProblems(manifests)).toEqual([]);
  });

  test('of Argo CD has values that the chart accepts', async () => {
    const example = readManifests(await readRepositoryFile('infra/examples/argocd-application.yaml'));
    const { source } = findManifest(example, 'Application')['spec'] as {
      source: { path: string; helm: { valuesObject: object } };
    };
    expect(source.path).toBe(CHART);
    const manifests = await renderManifests(source.helm.valuesObject);
    expect(await findProblems(manifests)).toEqual([]);
    expect(manifests.map(({ kind }) => kind)).toEqual(
      expect.arrayContaining(['ScaledObject', 'Ingress', 'ServiceMonitor', 'PrometheusRule']),
    );
  });
});
