import { readRepositoryFile } from '@tocsin/distribution/repository';
import { parse } from 'yaml';

const SECRETS = {
  DATABASE_URL: 'postgres://tocsin:secret@postgres.data:5432/tocsin',
  QUEUE_URL: 'redis://:secret@redis.data:6379',
  SECRETS_KEY: 'MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=',
};
const KEDA = {
  enabled: true,
  prometheus: { serverAddress: 'http://prometheus.monitoring:9090', matchers: 'namespace="monitoring"' },
};

/** Variables that are not settings. */
export const EXTRA_ENV = [
  { name: 'NODE_OPTIONS', value: '--max-semi-space-size=32' },
  { name: 'TZ', valueFrom: { configMapKeyRef: { name: 'zone', key: 'tz' } } },
];

/** Scheduling and metadata settings that each component accepts. */
const POD = {
  annotations: { 'example.com/owner': 'platform' },
  podAnnotations: { 'example.com/team': 'platform' },
  podLabels: { 'sidecar.istio.io/inject': 'false' },
  extraEnv: EXTRA_ENV,
  nodeSelector: { pool: 'general' },
  tolerations: [{ key: 'dedicated', operator: 'Exists' }],
  affinity: { nodeAffinity: { preferredDuringSchedulingIgnoredDuringExecution: [] } },
  priorityClassName: 'high',
};

/** Values for the number and size of pods, which every service accepts. */
const SIZE = {
  replicas: 3,
  maxUnavailable: '25%',
  resources: { requests: { cpu: '1', memory: '512Mi' }, limits: { memory: '2Gi' } },
};
const AGENT = { enabled: true, url: 'https://tocsin.example.com', existingSecret: 'tocsin-agent' };
const OPERATOR = { enabled: true, clusterName: 'prod-eu', existingSecret: 'tocsin-operator' };
const DATA = [{ namespaceSelector: { matchLabels: { name: 'data' } } }];

/** Values that the chart requires. */
export const MINIMAL = { existingSecret: 'tocsin-secrets', image: { registry: 'registry.example.com' } };

/** Sets of values from the smallest to one with every feature. */
export const VARIANTS = {
  minimal: MINIMAL,
  'secrets in the values': { image: MINIMAL.image, secrets: SECRETS },
  'everything on': {
    secrets: { ...SECRETS, BOOTSTRAP_API_KEY: 'x', OIDC_CLIENT_SECRET: 'x' },
    settings: {
      OIDC_ISSUER: 'https://login.example.com',
      OIDC_CLIENT_ID: 'tocsin',
      EGRESS_ALLOW_CIDRS: '10.2.0.0/16, 10.3.4.5,fd00::1,',
      API_RATE_LIMIT_PER_MINUTE: 1_000_000,
      OTEL_EXPORTER_OTLP_ENDPOINT: 'http://collector.monitoring:4318',
      OTEL_TRACES_SAMPLER_ARG: '0.1',
    },
    image: {
      registry: 'registry.example.com:5000/mirror',
      tag: '1.2.3',
      digests: { api: `sha256:${'a'.repeat(64)}`, migrate: `sha256:${'b'.repeat(64)}` },
      pullSecrets: [{ name: 'pull' }],
    },
    regions: {
      default: null,
      eu: { keda: { maxReplicas: 30 } },
      us: { podLabels: { 'example.com/region': 'us' } },
    },
    certificates: {
      configMap: 'authorities',
      checkKey: 'targets.pem',
      webhookKey: 'receivers.pem',
      storesKey: 'stores.pem',
    },
    serviceAccount: { annotations: { 'example.com/role': 'tocsin' } },
    api: {
      ...POD,
      service: { type: 'LoadBalancer', port: 8080, annotations: { 'example.com/lb': 'internal' } },
    },
    notifier: POD,
    checker: POD,
    gateway: { ...POD, enabled: true, service: { type: 'LoadBalancer', port: 8080 } },
    agent: {
      ...POD,
      ...AGENT,
      concurrency: 100_000,
      egressAllowCidrs: ['10.4.0.0/16', '10.5.6.7'],
      proxy: 'http://proxy.example.com:3128',
    },
    operator: {
      ...POD,
      ...OPERATOR,
      defaults: { interval: 30 },
    },
    migrations: POD,
    keda: KEDA,
    ingress: {
      enabled: true,
      className: 'nginx',
      host: 'up.example.com',
      tlsSecret: 'up-tls',
      annotations: { a: 'b' },
    },
    httpRoute: {
      enabled: true,
      parentRefs: [{ name: 'gateway', namespace: 'infra' }],
      hostnames: ['up.example.com'],
    },
    networkPolicy: {
      database: { port: 6432, to: DATA },
      queue: { port: 6380, to: [{ ipBlock: { cidr: '10.9.0.0/24' } }] },
      apiFrom: [{ namespaceSelector: { matchLabels: { name: 'ingress' } } }],
      metricsFrom: [{ namespaceSelector: { matchLabels: { name: 'monitoring' } } }],
      agentTo: [{ ipBlock: { cidr: '10.8.0.1/32' } }],
      checkerEgress: [{ to: [{ podSelector: { matchLabels: { app: 'internal' } } }] }],
      gatewayEgress: [{ ports: [{ port: 26379 }] }],
      agentEgress: [{ to: [{ podSelector: { matchLabels: { app: 'internal' } } }] }],
      migrateEgress: [{ ports: [{ port: 5432 }] }],
    },
    serviceMonitor: { enabled: true, labels: { release: 'prometheus' } },
    prometheusRule: { enabled: true, labels: { release: 'prometheus' } },
    grafanaDashboard: { enabled: true },
  },
  'several regions': {
    ...MINIMAL,
    regions: {
      default: null,
      'eu-west-1': { replicas: 4 },
      'us-east-1': { concurrency: 200, nodeSelector: { zone: 'us' } },
      // YAML would not read these codes as strings.
      no: {},
      1: {},
    },
    settings: { DEFAULT_REGION: 'eu-west-1', REGIONS: 'eu-west-1,us-east-1,ap-south-1' },
  },
  HorizontalPodAutoscalers: {
    ...MINIMAL,
    regions: { default: {}, eu: { autoscaling: { maxReplicas: 30, cores: 0.8 } }, no: {} },
    gateway: { enabled: true },
    autoscaling: { enabled: true },
  },
  'high availability': {
    image: {
      registry: MINIMAL.image.registry,
      repository: 'team/tocsin',
      pullPolicy: 'Always',
      digests: Object.fromEntries(
        ['api', 'checker', 'notifier', 'agent', 'operator', 'migrate'].map((name, at) => [
          name,
          `sha256:${`${at}`.repeat(64)}`,
        ]),
      ),
    },
    existingSecret: MINIMAL.existingSecret,
    api: SIZE,
    notifier: SIZE,
    checker: { ...SIZE, concurrency: 1_000 },
    gateway: { ...SIZE, enabled: true, concurrency: 200, service: { annotations: { a: 'b' } } },
    agent: { ...SIZE, ...AGENT, tokenKey: 'token' },
    operator: { ...SIZE, ...OPERATOR, url: 'https://tocsin.example.com', apiKeyKey: 'key' },
    migrations: { timeoutSeconds: 3_600, resources: SIZE.resources },
  },
  'PostgreSQL as the queue behind an Ingress': {
    image: MINIMAL.image,
    secrets: { ...SECRETS, QUEUE_URL: SECRETS.DATABASE_URL },
    ingress: { enabled: true, host: '*.example.com' },
    settings: { PUBLIC_URL: 'https://up.example.com' },
    networkPolicy: { queue: { port: 5432 } },
  },
  'other names behind a Gateway': {
    ...MINIMAL,
    nameOverride: 'status',
    fullnameOverride: 'uptime',
    serviceAccount: { create: false, name: 'uptime' },
    gateway: { enabled: true },
    httpRoute: {
      enabled: true,
      annotations: { a: 'b' },
      parentRefs: [{ name: 'gateway' }],
      hostnames: ['up.example.com', '*.example.org'],
    },
  },
  'KEDA and Prometheus': {
    ...MINIMAL,
    keda: { ...KEDA, minReplicas: 3, maxReplicas: 20, cores: 0.7, scaleDownSeconds: 600 },
    serviceMonitor: { enabled: true, interval: '15s' },
    prometheusRule: { enabled: true, runbookBase: 'https://git.example.com/tocsin/' },
    grafanaDashboard: { enabled: true, labels: { grafana_dashboard: 'yes' } },
  },
  'a HorizontalPodAutoscaler with other limits': {
    ...MINIMAL,
    autoscaling: { enabled: true, minReplicas: 3, maxReplicas: 20, cores: 0.7, scaleDownSeconds: 600 },
  },
  'network policies with every peer': {
    ...MINIMAL,
    settings: { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://collector.monitoring:4317' },
    gateway: { enabled: true },
    agent: AGENT,
    operator: OPERATOR,
    networkPolicy: {
      traces: { port: 4317, to: DATA },
      privateRanges: ['10.0.0.0/8'],
      operatorTo: DATA,
      ...Object.fromEntries(['api', 'notifier', 'operator'].map((name) => [`${name}Egress`, [{ to: DATA }]])),
    },
  },
  OpenShift: {
    ...MINIMAL,
    openshift: { enabled: true },
    certificates: { configMap: 'authorities', storesKey: 'stores.pem' },
    gateway: { enabled: true },
    agent: AGENT,
    operator: OPERATOR,
  },
  'a cluster that only checks': {
    ...MINIMAL,
    api: { enabled: false },
    notifier: { enabled: false },
    migrations: { enabled: false },
    regions: { default: null, 'ap-south-1': {}, 'ap-south-2': {}, 'ap-south-3': {}, 'ap-south-4': {} },
    networkPolicy: { enabled: false },
  },
  'a cluster that only runs the operator': {
    ...(parse(await readRepositoryFile('infra/examples/operator/values.yaml')) as object),
  },
  'an operator of two namespaces': {
    ...MINIMAL,
    operator: {
      ...OPERATOR,
      installCrds: false,
      watchNamespaces: ['shop', 'cart'],
    },
  },
  'a cluster that only runs agents': {
    image: MINIMAL.image,
    ...(parse(await readRepositoryFile('infra/examples/agent/values.yaml')) as object),
  },
};
