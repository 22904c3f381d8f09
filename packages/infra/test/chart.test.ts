import { BlockList } from 'node:net';
import { beforeAll, describe, expect, test } from '@jest/globals';
import { DENIED_IPV4 } from '@tocsin/egress/denied-ranges';
import { HelmError, lintChart, renderChart, renderNotes } from '@tocsin/infra/helm';
import { findManifest, findProblems, readManifests, type Manifest } from '@tocsin/infra/manifests';
import { podsOf } from '@tocsin/infra/pods';
import { readRepositoryFile } from '@tocsin/infra/repository';
import { queueUrlVariable, settings } from '@tocsin/runtime/settings';
import { parse } from 'yaml';
import { VARIANTS } from './chart-variants.ts';

/** What each service may be told: the catalogue, and what is Node's own. */
const KNOWN = new Set([...Object.keys(settings.shape), 'NODE_EXTRA_CA_CERTS']);
const REQUIRED = ['DATABASE_URL', 'QUEUE_URL', 'SECRETS_KEY'];
/** A service ends itself after this (packages/runtime/src/shutdown.ts). */
const HARD_EXIT_SECONDS = 30;

describe.each(Object.entries(VARIANTS))('the chart, %s', (_name, values) => {
  let manifests: Manifest[];
  beforeAll(async () => {
    manifests = readManifests(await renderChart(values));
  });

  test('makes manifests as the schemas have them, without a key that they do not know', async () => {
    expect(await findProblems(manifests)).toEqual([]);
    expect(manifests.length).toBeGreaterThan(8);
    const names = manifests.map(({ kind, metadata }) => `${kind} ${metadata.name}`);
    expect(names.filter((name, at) => names.indexOf(name) !== at)).toEqual([]);
  });

  test('runs every pod as restricted as Kubernetes knows it', () => {
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

  test('tells services settings of the catalogue alone, secrets out of a Secret, and all that they need', () => {
    const data = findManifest(manifests, 'ConfigMap', 'up-tocsin')['data'] as Record<string, string>;
    for (const { name, spec } of podsOf(manifests)) {
      const env = spec.containers.flatMap((container) => container.env);
      const inherited = spec.containers.some((container) => container.envFrom) ? Object.keys(data) : [];
      const told = [...inherited, ...env.map((variable) => variable.name)];
      expect(told.filter((variable) => !KNOWN.has(variable) && !variable.startsWith('QUEUE_URL_'))).toEqual(
        [],
      );
      const needed = name.endsWith('-migrate') ? REQUIRED.slice(0, 2) : REQUIRED;
      expect(told).toEqual(expect.arrayContaining(needed));
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

  test('lets services stop by themselves, and asks for their health where they answer', () => {
    for (const { kind, spec } of podsOf(manifests)) {
      if (kind !== 'Deployment') continue;
      const [container] = spec.containers;
      const pause = Number(container?.lifecycle?.preStop.exec.command[1] ?? 0);
      expect(spec.terminationGracePeriodSeconds).toBeGreaterThanOrEqual(HARD_EXIT_SECONDS + pause + 5);
      const port = container?.ports[0]?.name;
      // Without its queue an api reads, and takes changes, still.
      const readiness = port === 'http' ? '/readyz?exclude=queue' : '/readyz';
      expect([container?.startupProbe, container?.livenessProbe, container?.readinessProbe]).toEqual([
        expect.objectContaining({ httpGet: { path: '/healthz', port } }),
        expect.objectContaining({ httpGet: { path: '/healthz', port } }),
        expect.objectContaining({ httpGet: { path: readiness, port } }),
      ]);
    }
  });

  test('selects pods that there are, each by its own', () => {
    const pods = podsOf(manifests).filter(({ kind }) => kind === 'Deployment');
    const selecting = manifests.flatMap(({ kind, metadata, spec }) => {
      const { selector, podSelector } = (spec ?? {}) as Record<string, { matchLabels?: object }>;
      const labels = kind === 'Service' ? selector : (selector ?? podSelector)?.matchLabels;
      const component = metadata.labels?.['app.kubernetes.io/component'];
      return ['Service', 'PodDisruptionBudget', 'NetworkPolicy'].includes(kind) && component !== 'migrate'
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

  test('passes helm lint', async () => {
    await expect(lintChart(values)).resolves.toContain('0 chart(s) failed');
  });
});

describe('regions', () => {
  test('have a deployment each, with the queue of its own where there is one', async () => {
    const pods = podsOf(readManifests(await renderChart(VARIANTS['several regions'] ?? {})));
    const variablesOf = (name: string): Record<string, string | undefined> =>
      Object.fromEntries(
        pods
          .filter((pod) => pod.name === name)
          .flatMap(({ spec }) => spec.containers.flatMap(({ env }) => env))
          .map((variable) => [variable.name, variable.value ?? variable.valueFrom?.secretKeyRef?.key]),
      );
    const own = queueUrlVariable('eu-west-1');
    expect(variablesOf('up-tocsin-checker-eu-west-1')).toMatchObject({ REGION: 'eu-west-1', [own]: own });
    expect(variablesOf('up-tocsin-checker-us-east-1')).toMatchObject({
      REGION: 'us-east-1',
      CHECK_CONCURRENCY: '200',
    });
    expect(variablesOf('up-tocsin-checker-us-east-1')).not.toHaveProperty(own);
    // The api plans the checks of all regions, those that are served elsewhere, too.
    expect(variablesOf('up-tocsin-api')).toMatchObject({
      [own]: own,
      [queueUrlVariable('ap-south-1')]: expect.any(String),
    });
    expect(variablesOf('up-tocsin-migrate')).toHaveProperty(own);
    expect(pods.map(({ name }) => name)).not.toContain('up-tocsin-checker-default');
  });
});

test('the notes tell of a default region that this cluster does not serve', async () => {
  const values = { existingSecret: 'x', regions: { default: null, eu: {} } };
  expect(await renderNotes(values)).toContain(
    'checked from "default" (settings.DEFAULT_REGION), which is not one of them',
  );
  const told = await renderNotes({ ...values, settings: { DEFAULT_REGION: 'eu' } });
  expect(told).toContain('Regions checked from here: eu\n');
  expect(told).not.toContain('which is not one of them');
});

test('settings come as they were written, with those that Ingress implies', async () => {
  const manifests = readManifests(await renderChart(VARIANTS['everything on'] ?? {}));
  expect(findManifest(manifests, 'ConfigMap', 'up-tocsin')).toMatchObject({
    data: { API_RATE_LIMIT_PER_MINUTE: '1000000', PUBLIC_URL: 'https://up.example.com', TRUST_PROXY: '1' },
  });
});

test('the default network policy denies the same cloud metadata addresses as the egress guard', async () => {
  const { networkPolicy } = parse(await readRepositoryFile('infra/helm/tocsin/values.yaml')) as {
    networkPolicy: { privateRanges: string[] };
  };
  const denied = new BlockList();
  for (const range of networkPolicy.privateRanges) {
    const [network = '', bits] = range.split('/');
    denied.addSubnet(network, Number(bits));
  }
  const metadata = DENIED_IPV4.flatMap(([cidr, reason]) =>
    reason === 'a cloud metadata address' ? [cidr.replace(/\/32$/, '')] : [],
  );
  expect(metadata).toEqual(expect.arrayContaining(['168.63.129.16', '192.0.0.192']));
  expect(metadata.filter((address) => !denied.check(address))).toEqual([]);
});

describe('values that cannot work are refused', () => {
  test.each([
    ['no secrets', {}, 'existingSecret'],
    [
      'an own queue without its address',
      { secrets: { DATABASE_URL: 'a', QUEUE_URL: 'b', SECRETS_KEY: 'c' }, ownQueues: ['eu'] },
      'QUEUE_URL_EU',
    ],
    ['a name that there is not', { existingSecret: 'x', api: { replica: 3 } }, 'replica'],
    ['a setting that there is not', { existingSecret: 'x', settings: { LOG_LEVLE: 'debug' } }, 'LOG_LEVLE'],
    ['a secret among the settings', { existingSecret: 'x', settings: { SECRETS_KEY: 'x' } }, 'SECRETS_KEY'],
    ['a region in capitals', { existingSecret: 'x', regions: { EU: {} } }, 'regions'],
    ['KEDA that sees nothing', { existingSecret: 'x', keda: { enabled: true } }, 'keda.redis.address'],
    [
      'KEDA that looks at another Redis than the region has',
      {
        existingSecret: 'x',
        ownQueues: ['eu'],
        regions: { default: null, eu: { keda: { maxReplicas: 3 } } },
        keda: { enabled: true, redis: { address: 'redis:6379' } },
      },
      'regions.eu.keda.redis.address',
    ],
    ['an Ingress without a host', { existingSecret: 'x', ingress: { enabled: true } }, 'ingress.host'],
  ])('%s', async (_name, values, said) => {
    const rendering = renderChart(values);
    await expect(rendering).rejects.toThrow(HelmError);
    await expect(rendering).rejects.toThrow(said);
  });
});

test('every value is in the schema, in values.yaml and in the README', async () => {
  const { properties } = JSON.parse(await readRepositoryFile('infra/helm/tocsin/values.schema.json')) as {
    properties: object;
  };
  const values = parse(await readRepositoryFile('infra/helm/tocsin/values.yaml')) as object;
  const readme = await readRepositoryFile('infra/helm/tocsin/README.md');
  const known = Object.keys(properties).filter((name) => name !== 'global');
  expect(Object.keys(values).toSorted()).toEqual(known.toSorted());
  const untold = known.filter((name) => !new RegExp(`\`${name}[\`.]`).test(readme));
  expect(untold).toEqual(['nameOverride', 'fullnameOverride']);
});

test('the schema of the values knows every setting, secrets apart from others', async () => {
  const schema = JSON.parse(await readRepositoryFile('infra/helm/tocsin/values.schema.json')) as {
    properties: Record<'settings' | 'secrets', { properties: object }>;
  };
  const named = [schema.properties.settings, schema.properties.secrets].flatMap(({ properties }) =>
    Object.keys(properties),
  );
  // What the chart itself sets, or has a value of its own for.
  const others = [
    'PORT',
    'HOST',
    'HEALTH_PORT',
    'HEALTH_HOST',
    'DASHBOARD_DIR',
    'REGION',
    'CHECK_CONCURRENCY',
    'CHECK_CA_FILE',
    'WEBHOOK_CA_FILE',
    'LOG_FORMAT',
    'DATA_DIR',
  ];
  expect([...named, ...others].toSorted()).toEqual(Object.keys(settings.shape).toSorted());
});
