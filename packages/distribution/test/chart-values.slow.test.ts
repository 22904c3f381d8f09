import { describe, expect, test } from '@jest/globals';
import { ToolError } from '@tocsin/distribution/run-tool';
import { MINIMAL } from './chart-variants.ts';
import { renderChart } from './render-chart.ts';

const SECRETS = { DATABASE_URL: 'a', QUEUE_URL: 'b', SECRETS_KEY: 'c' };
const INGRESS = { enabled: true, host: 'a.example.com' };
const ROUTE = { enabled: true, parentRefs: [{ name: 'a' }], hostnames: ['a.example.com'] };
const KEDA = { enabled: true, prometheus: { serverAddress: 'http://prometheus' } };

/** Returns the problems that the chart reports. */
async function problemsOf(values: object): Promise<string> {
  const error: unknown = await renderChart(values).catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(ToolError);
  return String(error);
}

/** Values with secrets instead of `existingSecret`. */
function withSecrets(more: object = {}): object {
  return { existingSecret: '', secrets: { ...SECRETS, ...more } };
}

function withEnv(component: string, name: string): object {
  return { ...MINIMAL, [component]: { extraEnv: [{ name, value: 'x' }] } };
}

function withLabel(component: string, label: string): object {
  return { ...MINIMAL, [component]: { podLabels: { [label]: 'other' } } };
}

describe('the chart refuses', () => {
  test.each<[problem: string, values: object]>([
    ['secrets has no effect beside existingSecret', { secrets: SECRETS }],
    ["at '/image/registry'", { image: { registry: 'https://r.example.com' } }],
    ["'replica' not allowed", { api: { replica: 3 } }],
    ["'SECRETS_KEY' not allowed", { settings: { SECRETS_KEY: 'x' } }],
    ['set settings.OIDC_ISSUER and settings.OIDC_CLIENT_ID', { settings: { OIDC_CLIENT_ID: 'x' } }],
    [
      'set secrets.OIDC_CLIENT_SECRET',
      { ...withSecrets(), settings: { OIDC_ISSUER: 'x', OIDC_CLIENT_ID: 'y' } },
    ],
    ['set settings.BOOTSTRAP_ADMIN_EMAIL', withSecrets({ BOOTSTRAP_ADMIN_PASSWORD: 'x' })],
    ['set certificates.configMap', { certificates: { checkKey: 'ca.pem' } }],
    ['certificates.configMap has no effect', { certificates: { configMap: 'authorities' } }],
    [
      'remove serviceAccount.annotations',
      { serviceAccount: { create: false, name: 'a', annotations: { b: 'c' } } },
    ],
    ['set ingress.host', { ingress: { enabled: true } }],
    ['cannot follow from a wildcard in ingress.host', { ingress: { ...INGRESS, host: '*.example.com' } }],
    ['set ingress.enabled to false', { api: { enabled: false }, ingress: INGRESS }],
    ['set httpRoute.enabled to false', { api: { enabled: false }, httpRoute: ROUTE }],
    ['set httpRoute.parentRefs', { httpRoute: { ...ROUTE, parentRefs: [] } }],
    [
      'put a host without a wildcard first in httpRoute.hostnames',
      { httpRoute: { ...ROUTE, hostnames: [] } },
    ],
    ['this cluster would check nothing', { regions: { default: null } }],
    ['set agent.url\n- set agent.existingSecret', { agent: { enabled: true } }],
    ['set operator.clusterName\n- set operator.existingSecret', { operator: { enabled: true } }],
    ["at '/agent/url'", { agent: { enabled: true, url: 'https://a.example.com/path' } }],
    ['set keda.prometheus.serverAddress', { keda: { enabled: true } }],
    [
      'region eu: keda.minReplicas must not exceed keda.maxReplicas',
      { regions: { eu: { keda: { maxReplicas: 1 } } }, keda: KEDA },
    ],
    ['autoscaling.minReplicas must not exceed', { autoscaling: { enabled: true, minReplicas: 11 } }],
    [
      'gateway: set keda.prometheus.serverAddress',
      { regions: { default: null }, gateway: { enabled: true }, keda: { enabled: true } },
    ],
    ['set keda.enabled or autoscaling.enabled to false', { autoscaling: { enabled: true }, keda: KEDA }],
    ['must not set PORT', withEnv('api', 'PORT')],
    [
      'extraEnv of checker (region eu) must not set REGION',
      { regions: { eu: { extraEnv: [{ name: 'REGION', value: 'us' }] } } },
    ],
    [
      'remove settings.LOG_LEVEL, or change it there instead',
      { ...withEnv('checker', 'LOG_LEVEL'), settings: { LOG_LEVEL: 'info' } },
    ],
    [
      'extraEnv of gateway must not set AGENT_PORT',
      { gateway: { enabled: true, extraEnv: [{ name: 'AGENT_PORT', value: '1' }] } },
    ],
    ['must not set checksum/settings', { api: { podAnnotations: { 'checksum/settings': 'x' } } }],
    ['must not set helm.sh/hook', { migrations: { annotations: { 'helm.sh/hook': 'post-install' } } }],
    ['must not set helm.sh/chart', { serviceMonitor: { enabled: true, labels: { 'helm.sh/chart': 'x' } } }],
    ['must not set tocsin.dev/network-policy', withLabel('migrations', 'tocsin.dev/network-policy')],
  ])('with "%s": %j', async (problem, values) => {
    expect(await problemsOf({ ...MINIMAL, ...values })).toContain(problem);
  });

  test('values with several problems, and reports all of them', async () => {
    const problems = await problemsOf({ secrets: null });
    for (const name of ['set image.registry', ...Object.keys(SECRETS).map((key) => `or set secrets.${key}`)])
      expect(problems).toContain(name);
  });

  test.each(['api', 'notifier', 'checker', 'migrations'])('what it sets itself for %s', async (component) => {
    const labels = ['name', 'instance', 'component'].map((key) => `app.kubernetes.io/${key}`);
    for (const label of [...labels, 'tocsin.dev/region'])
      expect(await problemsOf(withLabel(component, label))).toContain(
        `must not set ${label}: the chart sets it`,
      );
    for (const name of ['DATABASE_URL', 'QUEUE_URL'])
      expect(await problemsOf(withEnv(component, name))).toContain(`must not set ${name}: the chart sets it`);
    const extraEnv = ['a', 'b'].map((value) => ({ name: 'TZ', value }));
    expect(await problemsOf({ ...MINIMAL, [component]: { extraEnv } })).toContain('extraEnv has it twice');
  });

  // The network policies depend on the last three.
  test.each([
    'LOG_FORMAT',
    'PUBLIC_URL',
    'TRUST_PROXY',
    'EGRESS_ALLOW_CIDRS',
    'OIDC_ISSUER',
    'OTEL_EXPORTER_OTLP_ENDPOINT',
  ])('%s in extraEnv, and takes it in settings', async (name) => {
    const settings = { ...(name === 'OIDC_ISSUER' && { OIDC_CLIENT_ID: 'y' }), [name]: 'x' };
    const values = { ...withEnv('checker', name), ingress: INGRESS };
    for (const each of [values, { ...values, settings }])
      expect(await problemsOf(each)).toContain(`set settings.${name} instead`);
    expect(await renderChart({ ...MINIMAL, ingress: INGRESS, settings })).toContain(`${name}: "x"`);
  });
});
