import { beforeAll, describe, expect, test } from '@jest/globals';
import { queueUrlVariable, settings } from '@tocsin/runtime/settings';
import { EXTRA_ENV, MINIMAL, VARIANTS } from './chart-variants.ts';
import { findManifest, findProblems, type Manifest, type Pod, podsOf } from './manifests.ts';
import { findPod, lintChart, renderManifests, renderNotes } from './render-chart.ts';

/** The settings of the services, a variable of Node.js, and the variables that a variant adds. */
const KNOWN = new Set([
  ...Object.keys(settings.shape),
  'NODE_EXTRA_CA_CERTS',
  ...EXTRA_ENV.map(({ name }) => name),
]);
const REQUIRED = ['DATABASE_URL', 'QUEUE_URL', 'SECRETS_KEY'];
/** A service exits at the latest after this time (packages/runtime/src/service.ts). */
const HARD_EXIT_SECONDS = 30;

/** The variables of a pod with their values, or the keys of the Secret that they come from. */
function variablesOf(pod: Pod): Record<string, string | undefined> {
  const env = pod.spec.containers.flatMap((container) => container.env);
  return Object.fromEntries(env.map((each) => [each.name, each.value ?? each.valueFrom?.secretKeyRef?.key]));
}

describe.each(Object.entries(VARIANTS))('the chart, %s', (_name, values) => {
  let manifests: Manifest[];
  beforeAll(async () => {
    manifests = await renderManifests(values);
  });

  test('renders manifests that match their schemas, without unknown keys', async () => {
    expect(await findProblems(manifests)).toEqual([]);
    expect(manifests.length).toBeGreaterThan(8);
    const names = manifests.map(({ kind, metadata }) => `${kind} ${metadata.name}`);
    expect(names.filter((name, at) => names.indexOf(name) !== at)).toEqual([]);
  });

  test('runs every pod under the restricted pod security standard', () => {
    const pods = podsOf(manifests);
    expect(pods.length).toBeGreaterThan(0);
    for (const { name, spec } of pods) {
      expect({ name, spec }).toEqual({
        name,
        spec: expect.objectContaining({
          automountServiceAccountToken: false,
          securityContext: expect.objectContaining({
            runAsNonRoot: true,
            seccompProfile: { type: 'RuntimeDefault' },
          }),
        }),
      });
      expect(spec.hostNetwork ?? spec.hostPID ?? spec.hostIPC ?? false).toBe(false);
      for (const container of spec.containers) {
        expect(container.securityContext).toEqual({
          allowPrivilegeEscalation: false,
          readOnlyRootFilesystem: true,
          capabilities: { drop: ['ALL'] },
        });
        expect(container.resources).toMatchObject({ requests: { memory: expect.any(String) } });
      }
    }
  });

  test('gives services only known settings, all required ones, and secrets from a Secret', () => {
    const data = findManifest(manifests, 'ConfigMap', 'up-tocsin')['data'] as Record<string, string>;
    for (const { name, spec } of podsOf(manifests)) {
      const env = spec.containers.flatMap((container) => container.env);
      const inherited = spec.containers.some((container) => container.envFrom) ? Object.keys(data) : [];
      const names = [...inherited, ...env.map((variable) => variable.name)];
      expect(names.filter((each) => !KNOWN.has(each) && !each.startsWith('QUEUE_URL_'))).toEqual([]);
      // The second of two variables with one name would silently replace the first.
      expect(names.filter((each, at) => names.indexOf(each) !== at)).toEqual([]);
      const needed = name.endsWith('-migrate') ? REQUIRED.slice(0, 2) : REQUIRED;
      expect(names).toEqual(expect.arrayContaining(needed));
      for (const variable of env) {
        const secret =
          needed.includes(variable.name) || /^QUEUE_URL_|PASSWORD|SECRET|_KEY$/.test(variable.name);
        expect({ name: variable.name, fromSecret: variable.valueFrom?.secretKeyRef !== undefined }).toEqual({
          name: variable.name,
          fromSecret: secret || ['DATABASE_DIRECT_URL', 'OTEL_EXPORTER_OTLP_HEADERS'].includes(variable.name),
        });
      }
    }
  });

  test('gives services the time to stop, and probes the port that they listen on', () => {
    for (const { kind, spec } of podsOf(manifests)) {
      if (kind !== 'Deployment') continue;
      const [container] = spec.containers;
      const pause = Number(container?.lifecycle?.preStop.exec.command[1] ?? 0);
      expect(spec.terminationGracePeriodSeconds).toBeGreaterThanOrEqual(HARD_EXIT_SECONDS + pause + 5);
      const port = container?.ports[0]?.name;
      // An api without its queue still serves reads and changes.
      const readiness = port === 'http' ? '/readyz?exclude=queue' : '/readyz';
      expect([container?.startupProbe, container?.livenessProbe, container?.readinessProbe]).toEqual([
        expect.objectContaining({ httpGet: { path: '/healthz', port } }),
        expect.objectContaining({ httpGet: { path: '/healthz', port } }),
        expect.objectContaining({ httpGet: { path: readiness, port } }),
      ]);
    }
  });

  test('selects the pods of one component with each selector', () => {
    const pods = podsOf(manifests);
    const selecting = manifests.flatMap(({ kind, metadata, spec }) => {
      const { selector, podSelector } = (spec ?? {}) as Record<string, { matchLabels?: object }>;
      const labels = kind === 'Service' ? selector : (selector ?? podSelector)?.matchLabels;
      const component = metadata.labels?.['app.kubernetes.io/component'];
      return ['Service', 'Deployment', 'PodDisruptionBudget', 'NetworkPolicy'].includes(kind)
        ? [{ kind, name: metadata.name, labels: labels as Record<string, string>, component }]
        : [];
    });
    for (const { kind, name, labels, component } of selecting) {
      const found = pods.filter(({ labels: own }) =>
        Object.entries(labels).every(([key, value]) => own[key] === value),
      );
      expect({ kind, name, found: found.length > 0 }).toEqual({ kind, name, found: true });
      expect(new Set(found.map(({ labels: own }) => own['app.kubernetes.io/component']))).toEqual(
        new Set([component]),
      );
    }
  });

  test('lets node drains evict pods that are not ready', () => {
    const budgets = manifests.filter(({ kind }) => kind === 'PodDisruptionBudget');
    expect(budgets.length).toBeGreaterThan(0);
    for (const { spec } of budgets) expect(spec).toMatchObject({ unhealthyPodEvictionPolicy: 'AlwaysAllow' });
  });

  test('passes helm lint', async () => {
    await expect(lintChart(values)).resolves.toContain('0 chart(s) failed');
  });
});

describe('the values of pods', () => {
  test.each([
    ['Deployment', 'up-tocsin-api'],
    ['Deployment', 'up-tocsin-notifier'],
    ['Deployment', 'up-tocsin-checker-eu'],
    ['Deployment', 'up-tocsin-checker-us'],
    ['Job', 'up-tocsin-migrate'],
  ])('reach the %s %s', async (kind, name) => {
    const manifests = await renderManifests(VARIANTS['everything on']);
    expect(findManifest(manifests, kind, name).metadata.annotations).toMatchObject({
      'example.com/owner': 'platform',
    });
    const pod = findPod(manifests, name);
    expect(pod).toMatchObject({
      annotations: { 'example.com/team': 'platform' },
      labels: { 'sidecar.istio.io/inject': 'false' },
      spec: {
        nodeSelector: { pool: 'general' },
        tolerations: [{ key: 'dedicated', operator: 'Exists' }],
        affinity: { nodeAffinity: expect.anything() },
        priorityClassName: 'high',
      },
    });
    expect(pod.spec.containers[0]?.env).toEqual(expect.arrayContaining(EXTRA_ENV));
  });

  test('of a region are merged with those of all checkers', async () => {
    const { labels } = findPod(await renderManifests(VARIANTS['everything on']), 'up-tocsin-checker-us');
    expect(labels).toMatchObject({ 'sidecar.istio.io/inject': 'false', 'example.com/region': 'us' });
  });

  test('include a setting of one service that is not in settings', async () => {
    const env = [{ name: 'LOG_LEVEL', value: 'debug' }];
    const manifests = await renderManifests({ ...MINIMAL, notifier: { extraEnv: env } });
    expect(variablesOf(findPod(manifests, 'up-tocsin-notifier'))).toMatchObject({ LOG_LEVEL: 'debug' });
    expect(variablesOf(findPod(manifests, 'up-tocsin-api'))).not.toHaveProperty('LOG_LEVEL');
  });
});

test('images are pinned by their digest, or named by the tag without one', async () => {
  const pods = podsOf(await renderManifests(VARIANTS['everything on']));
  const images = pods.map(({ name, spec }) => [name, spec.containers[0]?.image]);
  expect(Object.fromEntries(images)).toEqual({
    'up-tocsin-api': `registry.example.com:5000/mirror/tocsin/api@sha256:${'a'.repeat(64)}`,
    'up-tocsin-migrate': `registry.example.com:5000/mirror/tocsin/migrate@sha256:${'b'.repeat(64)}`,
    'up-tocsin-notifier': 'registry.example.com:5000/mirror/tocsin/notifier:1.2.3',
    'up-tocsin-checker-eu': 'registry.example.com:5000/mirror/tocsin/checker:1.2.3',
    'up-tocsin-checker-us': 'registry.example.com:5000/mirror/tocsin/checker:1.2.3',
  });
});

describe('regions', () => {
  test('have a Deployment each, with the address of their own queue', async () => {
    const manifests = await renderManifests(VARIANTS['several regions']);
    const own = queueUrlVariable('eu-west-1');
    expect(variablesOf(findPod(manifests, 'up-tocsin-checker-eu-west-1'))).toMatchObject({
      REGION: 'eu-west-1',
      [own]: own,
    });
    const us = variablesOf(findPod(manifests, 'up-tocsin-checker-us-east-1'));
    expect(us).toMatchObject({ REGION: 'us-east-1', CHECK_CONCURRENCY: '200' });
    expect(us).not.toHaveProperty(own);
    // The api schedules the checks of all regions, also of those in other clusters.
    expect(variablesOf(findPod(manifests, 'up-tocsin-api'))).toMatchObject({
      [own]: own,
      [queueUrlVariable('ap-south-1')]: expect.any(String),
    });
    expect(variablesOf(findPod(manifests, 'up-tocsin-migrate'))).toHaveProperty(own);
    expect(podsOf(manifests).map(({ name }) => name)).not.toContain('up-tocsin-checker-default');
  });
});

describe('a HorizontalPodAutoscaler', () => {
  test.each([
    ['default', 10, '0.5'],
    ['eu', 30, '0.8'],
  ])('scales the checkers of %s by its own values', async (region, maxReplicas, averageValue) => {
    const manifests = await renderManifests(VARIANTS['HorizontalPodAutoscalers']);
    const name = `up-tocsin-checker-${region}`;
    expect(findManifest(manifests, 'HorizontalPodAutoscaler', name)['spec']).toEqual({
      scaleTargetRef: { apiVersion: 'apps/v1', kind: 'Deployment', name },
      minReplicas: 2,
      maxReplicas,
      metrics: [
        { type: 'Resource', resource: { name: 'cpu', target: { type: 'AverageValue', averageValue } } },
      ],
      behavior: { scaleDown: { stabilizationWindowSeconds: 300 } },
    });
  });

  test.each(['HorizontalPodAutoscalers', 'everything on'])(
    'or KEDA alone decides the number of checkers (%s)',
    async (variant) => {
      const deployments = (await renderManifests(VARIANTS[variant])).filter(
        ({ kind }) => kind === 'Deployment',
      );
      const fixed = deployments.filter(({ spec }) => 'replicas' in (spec as object));
      expect(fixed.map(({ metadata }) => metadata.name).toSorted()).toEqual([
        'up-tocsin-api',
        'up-tocsin-notifier',
      ]);
      expect(deployments.length).toBeGreaterThan(fixed.length);
    },
  );
});

test('the notes warn about a default region without checkers in this cluster', async () => {
  const values = { ...MINIMAL, regions: { default: null, eu: {} } };
  expect(await renderNotes(values)).toContain(
    'checked from "default" (settings.DEFAULT_REGION), which this cluster does not check from',
  );
  const notes = await renderNotes({ ...values, settings: { DEFAULT_REGION: 'eu' } });
  expect(notes).toContain('Regions checked from this cluster: eu\n');
  expect(notes).not.toContain('does not check from');
});

test('the notes show the address of the dashboard', async () => {
  expect(await renderNotes(MINIMAL)).toContain('port-forward service/up-tocsin-api 3000:80');
  const ingress = { enabled: true, host: 'up.example.com' };
  expect(await renderNotes({ ...MINIMAL, ingress })).toContain('dashboard: http://up.example.com\n');
});

test('the ConfigMap has the settings as written, and those that follow from Ingress', async () => {
  const manifests = await renderManifests(VARIANTS['everything on']);
  expect(findManifest(manifests, 'ConfigMap', 'up-tocsin')).toMatchObject({
    data: {
      API_RATE_LIMIT_PER_MINUTE: '1000000',
      LOG_FORMAT: 'json',
      PUBLIC_URL: 'https://up.example.com',
      TRUST_PROXY: '1',
    },
  });
});
