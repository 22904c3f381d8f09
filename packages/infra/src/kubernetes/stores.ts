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
