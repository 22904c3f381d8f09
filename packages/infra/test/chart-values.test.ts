import { describe, expect, test } from '@jest/globals';
import { ToolError } from '@tocsin/infra/run-tool';
import { MINIMAL } from './chart-variants.ts';
import { renderChart } from './render-chart.ts';

const SECRETS = { DATABASE_URL: 'a', QUEUE_URL: 'b', SECRETS_KEY: 'c' };
const { image } = MINIMAL;
/** The settings that the network policies depend on. */
const NETWORK_SETTINGS = ['EGRESS_ALLOW_CIDRS', 'OIDC_ISSUER', 'OTEL_EXPORTER_OTLP_ENDPOINT'];
const SELECTOR_LABELS = [
  'app.kubernetes.io/name',
  'app.kubernetes.io/instance',
  'app.kubernetes.io/component',
  'tocsin.dev/region',
];

async function expectRefusal(values: object, message: string): Promise<void> {
  const rendering = renderChart(values);
  await expect(rendering).rejects.toThrow(ToolError);
  await expect(rendering).rejects.toThrow(message);
}

describe('the chart refuses', () => {
  test.each<[string, object, string]>([
    ['no secrets', { image }, 'existingSecret'],
    ['secrets beside existingSecret', { ...MINIMAL, secrets: SECRETS }, 'secrets has no effect'],
    ['no registry', { existingSecret: 'x' }, 'image.registry'],
    ['a registry with a scheme', { ...MINIMAL, image: { registry: 'https://r.example.com' } }, 'registry'],
    [
      'a digest without its algorithm',
      { ...MINIMAL, image: { ...image, digests: { api: 'a1' } } },
      'digests',
    ],
    ['an own queue without its address', { image, secrets: SECRETS, ownQueues: ['eu'] }, 'QUEUE_URL_EU'],
    [
      'the address of an own queue without its region',
      { image, secrets: { ...SECRETS, QUEUE_URL_EU: 'd' } },
      'add the region of secrets.QUEUE_URL_EU to ownQueues',
    ],
    ['an unknown name', { ...MINIMAL, api: { replica: 3 } }, 'replica'],
    ['an unknown setting', { ...MINIMAL, settings: { LOG_LEVLE: 'debug' } }, 'LOG_LEVLE'],
    ['a secret among the settings', { ...MINIMAL, settings: { SECRETS_KEY: 'x' } }, 'SECRETS_KEY'],
    ['a region in capitals', { ...MINIMAL, regions: { EU: {} } }, 'regions'],
    ['an issuer without a client', { ...MINIMAL, settings: { OIDC_ISSUER: 'x' } }, 'OIDC_CLIENT_ID'],
    ['a client without an issuer', { ...MINIMAL, settings: { OIDC_CLIENT_ID: 'x' } }, 'OIDC_ISSUER'],
    [
      'single sign-on without its secret',
      { image, secrets: SECRETS, settings: { OIDC_ISSUER: 'x', OIDC_CLIENT_ID: 'y' } },
      'secrets.OIDC_CLIENT_SECRET',
    ],
    [
      'a password without a user',
      { image, secrets: { ...SECRETS, BOOTSTRAP_ADMIN_PASSWORD: 'x' } },
      'settings.BOOTSTRAP_ADMIN_EMAIL',
    ],
    ...['checkKey', 'webhookKey', 'storesKey'].map((key): [string, object, string] => [
      `certificates.${key} without a ConfigMap`,
      { ...MINIMAL, certificates: { [key]: 'ca.pem' } },
      'set certificates.configMap',
    ]),
    [
      'certificates without a key',
      { ...MINIMAL, certificates: { configMap: 'authorities' } },
      'certificates.configMap has no effect',
    ],
    [
      'annotations of an account that it does not create',
      { ...MINIMAL, serviceAccount: { create: false, name: 'a', annotations: { b: 'c' } } },
      'serviceAccount.annotations',
    ],
    ['an Ingress without a host', { ...MINIMAL, ingress: { enabled: true } }, 'ingress.host'],
    [
      'a wildcard Ingress without a public URL',
      { ...MINIMAL, ingress: { enabled: true, host: '*.example.com' } },
      'settings.PUBLIC_URL',
    ],
    [
      'an Ingress without an api',
      { ...MINIMAL, api: { enabled: false }, ingress: { enabled: true, host: 'a.example.com' } },
      'set ingress.enabled to false',
    ],
    [
      'an HTTPRoute without a Gateway',
      { ...MINIMAL, httpRoute: { enabled: true, hostnames: ['a.example.com'] } },
      'httpRoute.parentRefs',
    ],
    [
      'an HTTPRoute without a hostname or public URL',
      { ...MINIMAL, httpRoute: { enabled: true, parentRefs: [{ name: 'a' }] } },
      'settings.PUBLIC_URL',
    ],
    [
      'an HTTPRoute without an api',
      {
        ...MINIMAL,
        api: { enabled: false },
        httpRoute: { enabled: true, parentRefs: [{ name: 'a' }], hostnames: ['a.example.com'] },
      },
      'set httpRoute.enabled to false',
    ],
    [
      'a disruption budget that blocks drains',
      { ...MINIMAL, api: { maxUnavailable: '0%' } },
      'maxUnavailable',
    ],
    ['KEDA without Prometheus', { ...MINIMAL, keda: { enabled: true } }, 'keda.prometheus.serverAddress'],
    [
      'a minimum of checkers above the maximum, with KEDA',
      {
        ...MINIMAL,
        regions: { eu: { keda: { maxReplicas: 1 } } },
        keda: { enabled: true, prometheus: { serverAddress: 'http://prometheus' } },
      },
      'region eu: keda.minReplicas',
    ],
    [
      'a minimum of checkers above the maximum, without KEDA',
      { ...MINIMAL, autoscaling: { enabled: true, minReplicas: 11 } },
      'autoscaling.minReplicas',
    ],
    [
      'two ways to scale',
      {
        ...MINIMAL,
        autoscaling: { enabled: true },
        keda: { enabled: true, prometheus: { serverAddress: 'http://prometheus' } },
      },
      'set keda.enabled or autoscaling.enabled to false',
    ],
    [
      'a target that a busy checker hardly exceeds',
      { ...MINIMAL, autoscaling: { enabled: true, cores: 1 } },
      'autoscaling/cores',
    ],
  ])('%s', (_name, values, message) => expectRefusal(values, message));

  test('with all problems at once', async () => {
    await expectRefusal({}, 'set image.registry');
    await expectRefusal({}, 'secrets.SECRETS_KEY');
  });

  describe.each(['api', 'notifier', 'checker', 'migrations'])('for %s', (component) => {
    test.each(SELECTOR_LABELS)('the pod label %s', async (label) => {
      await expectRefusal(
        { ...MINIMAL, [component]: { podLabels: { [label]: 'other' } } },
        `must not set ${label}: the chart sets it`,
      );
    });

    test.each(['DATABASE_URL', 'QUEUE_URL'])('%s in extraEnv', async (name) => {
      await expectRefusal(
        { ...MINIMAL, [component]: { extraEnv: [{ name, value: 'x' }] } },
        `must not set ${name}: the chart sets it`,
      );
    });

    test('a variable that is twice in extraEnv', async () => {
      const extraEnv = ['a', 'b'].map((value) => ({ name: 'TZ', value }));
      await expectRefusal({ ...MINIMAL, [component]: { extraEnv } }, 'extraEnv has it twice');
    });
  });

  test.each<[string, object, string]>([
    ['a variable of the container', { api: { extraEnv: [{ name: 'PORT', value: '1' }] } }, 'PORT'],
    [
      'the region of a checker',
      { regions: { eu: { extraEnv: [{ name: 'REGION', value: 'us' }] } } },
      'extraEnv of checker (region eu) must not set REGION',
    ],
    [
      'a setting that settings has',
      { settings: { LOG_LEVEL: 'info' }, checker: { extraEnv: [{ name: 'LOG_LEVEL', value: 'debug' }] } },
      'remove settings.LOG_LEVEL, or change it there instead',
    ],
    [
      'a setting that follows from the Ingress',
      {
        ingress: { enabled: true, host: 'a.example.com' },
        api: { extraEnv: [{ name: 'PUBLIC_URL', value: 'https://b.example.com' }] },
      },
      'settings.PUBLIC_URL',
    ],
    [
      'a setting that the network policy depends on',
      { checker: { extraEnv: [{ name: 'EGRESS_ALLOW_CIDRS', value: '10.0.0.0/8' }] } },
      'settings.EGRESS_ALLOW_CIDRS',
    ],
    ['a variable with a space', { api: { extraEnv: [{ name: 'A B', value: '1' }] } }, 'extraEnv/0/name'],
    [
      'a variable with two values',
      {
        regions: {
          eu: {
            extraEnv: [{ name: 'A', value: '1', valueFrom: { fieldRef: { fieldPath: 'metadata.name' } } }],
          },
        },
      },
      'extraEnv/0',
    ],
  ])('%s in extraEnv', (_name, values, message) => expectRefusal({ ...MINIMAL, ...values }, message));

  test.each(['LOG_FORMAT', 'PUBLIC_URL', 'TRUST_PROXY', ...NETWORK_SETTINGS])(
    '%s in extraEnv, and takes it in settings',
    async (name) => {
      const values = { ...MINIMAL, ingress: { enabled: true, host: 'a.example.com' } };
      const env = { checker: { extraEnv: [{ name, value: 'x' }] } };
      await expectRefusal({ ...values, ...env }, `set settings.${name} instead`);
      const settings = { ...(name === 'OIDC_ISSUER' && { OIDC_CLIENT_ID: 'y' }), [name]: 'x' };
      await expectRefusal({ ...values, ...env, settings }, `set settings.${name} instead`);
      await expect(renderChart({ ...values, settings })).resolves.toContain(`${name}: "x"`);
    },
  );

  test.each<[string, object]>([
    ['checksum/settings', { api: { podAnnotations: { 'checksum/settings': 'x' } } }],
    ['helm.sh/hook', { migrations: { annotations: { 'helm.sh/hook': 'post-install' } } }],
    ['helm.sh/chart', { serviceMonitor: { enabled: true, labels: { 'helm.sh/chart': 'x' } } }],
    ['tocsin.dev/network-policy', { migrations: { podLabels: { 'tocsin.dev/network-policy': 'x' } } }],
  ])('a second %s', (key, values) => expectRefusal({ ...MINIMAL, ...values }, `must not set ${key}`));
});
