import { describe, expect, test } from '@jest/globals';
import type { KubernetesObject } from '../kubernetes/objects.ts';
import { clusterOf, objectOf } from '../testing/fake-cluster.ts';
import { buildDesiredSet, type DesiredSet } from './desired-set.ts';
import { Problem } from './problem.ts';

const NOW = Date.parse('2026-01-01T00:00:30Z');
const ON = { 'tocsin.dev/monitor': 'true' };
const LABELS = { 'tocsin.dev/cluster': 'prod', 'tocsin.dev/namespace': 'shop' };

async function build(objects: readonly KubernetesObject[], defaults = {}): Promise<DesiredSet> {
  return buildDesiredSet(clusterOf(...objects), 'shop', {
    clusterName: 'prod',
    defaults,
    now: NOW,
    readSecret: async (name) => {
      if (name === 'hidden') throw new Problem('SecretForbidden', 'the operator may not read Secret hidden');
      return name === 'tokens' ? { health: 's3cret' } : null;
    },
  });
}

async function entryOf(...objects: readonly KubernetesObject[]): Promise<object> {
  const [item] = (await build(objects)).items;
  return item?.entry ?? {};
}

const SECRET_HEADER = (name: string, key = 'health') => [
  { name: 'Authorization', valueFrom: { secretKeyRef: { name, key } } },
];

describe('a Monitor', () => {
  test('becomes an entry with its fields, headers from Secrets, and labels of the operator', async () => {
    const spec = {
      url: 'https://shop.example.com/health',
      interval: 30,
      labels: { app: 'shop' },
      headers: [{ name: 'Accept', value: 'text/html' }, ...SECRET_HEADER('tokens')],
      deletionPolicy: 'Retain',
    };
    const set = await build([objectOf('Monitor', 'front', spec)]);
    expect(set).toMatchObject({ usesSecrets: true, nextAt: null, items: [{ isRetained: true }] });
    expect(set.items[0]?.entry).toEqual({
      externalId: 'prod/shop/front',
      name: 'shop/front',
      url: spec.url,
      interval: 30,
      labels: { app: 'shop', ...LABELS },
      headers: { Accept: 'text/html', Authorization: 's3cret' },
    });
  });

  test.each<[url: string, urlFrom: object]>([
    ['https://a.example.com/', { ingressRef: { name: 'web' } }],
    ['http://b.example.com/x', { ingressRef: { name: 'web', host: 'b.example.com', path: '/x' } }],
    ['https://c.example.com:8443/', { httpRouteRef: { name: 'route' } }],
    ['http://db.shop.svc:8080/', { serviceRef: { name: 'db' } }],
    ['https://db.shop.svc:8443/ok', { serviceRef: { name: 'db', port: 'https-admin', path: '/ok' } }],
  ])('has the URL %s', async (url, urlFrom) => {
    const objects = [
      objectOf('Ingress', 'web', {
        rules: [{ host: '*.example.com' }, { host: 'a.example.com' }, { host: 'b.example.com' }],
        tls: [{ hosts: ['a.example.com'] }],
      }),
      objectOf('HTTPRoute', 'route', { hostnames: ['c.example.com'], parentRefs: [{ name: 'gateway' }] }),
      objectOf('Gateway', 'gateway', {
        listeners: [
          { name: 'http', port: 80, protocol: 'HTTP' },
          { name: 'https', port: 8443, protocol: 'HTTPS' },
        ],
      }),
      objectOf('Service', 'db', { ports: [{ port: 8080 }, { name: 'https-admin', port: 8443 }] }),
    ];
    expect(await entryOf(objectOf('Monitor', 'm', { urlFrom }), ...objects)).toMatchObject({ url });
  });

  const url = 'https://a.example.com';
  test.each<[message: string, spec: object]>([
    ['interval: must be an integer from 5 to 86400 (seconds)', { url, interval: 1 }],
    ['intervall: is not a known field (did you mean `interval`?)', { url, intervall: 30 }],
    ['url: set either url or urlFrom', {}],
    ['urlFrom: Ingress web does not exist in this namespace', { urlFrom: { ingressRef: { name: 'web' } } }],
    ['Secret absent with the key health does not exist', { url, headers: SECRET_HEADER('absent') }],
    ['Secret tokens with the key other does not exist', { url, headers: SECRET_HEADER('tokens', 'other') }],
    ['the operator may not read Secret hidden', { url, headers: SECRET_HEADER('hidden') }],
    ['headers.A: set either value or valueFrom', { url, headers: [{ name: 'A' }] }],
  ])('is not accepted, and says why: %s', async (message, spec) => {
    const [item, other] = (
      await build([objectOf('Monitor', 'bad', spec), objectOf('Monitor', 'good', { url })])
    ).items;
    expect(item?.entry).toBeInstanceOf(Problem);
    expect(item?.entry).toMatchObject({ message: expect.stringContaining(message) });
    expect(other?.entry).not.toBeInstanceOf(Problem);
  });

  test('with a long name has a short key of its own', async () => {
    const names = ['a', 'b'].map((end) => 'x'.repeat(250) + end);
    const { items } = await build(names.map((name) => objectOf('Monitor', name, { url })));
    const keys = items.map(({ externalId }) => externalId);
    expect(keys.map((key) => key.length)).toEqual([255, 255]);
    expect(new Set(keys).size).toBe(2);
  });
});

test('a Channel takes its URL and its secret from Secrets', async () => {
  const channel = objectOf('Channel', 'on-call', {
    url: 'https://hooks.example.com/x',
    secretRef: { name: 'tokens', key: 'health' },
    selector: { matchLabels: { app: 'shop' } },
  });
  const [item] = (await build([channel])).items;
  expect(item).toMatchObject({ field: 'channels', externalId: 'prod/shop/on-call', url: null });
  expect(item?.entry).toMatchObject({ message: expect.stringMatching(/^secret: must be `whsec_`/) });
});

const BOMB = [
  'a: &a [x, x, x, x, x, x, x, x, x]',
  ...['b', 'c', 'd', 'e'].map((name, index) => {
    const alias = `*${'abcd'[index] ?? ''}`;
    return `${name}: &${name} [${Array.from({ length: 9 }, () => alias).join(', ')}]`;
  }),
].join('\n');

describe('discovery', () => {
  const rules = [{ host: 'a.example.com' }, { host: '*.b.example.com' }, { host: 'c.example.com' }];

  test('finds a monitor per host without a wildcard, of annotated objects only', async () => {
    const { items } = await build([
      objectOf('Ingress', 'web', { rules }, ON),
      objectOf('Ingress', 'other', { rules }),
      objectOf('Service', 'db', { ports: [{ port: 8080 }] }, ON),
    ]);
    expect(items.map(({ externalId, url }) => `${externalId} ${url}`)).toEqual([
      'prod/shop/ingress/web/a.example.com http://a.example.com/',
      'prod/shop/ingress/web/c.example.com http://c.example.com/',
      'prod/shop/service/db/db.shop.svc http://db.shop.svc:8080/',
    ]);
  });

  test('merges the defaults, the IngressClass, the Namespace and the object, in this order', async () => {
    const spec = (text: string) => ({ 'tocsin.dev/monitor-spec': text });
    const objects = [
      objectOf(
        'IngressClass',
        'nginx',
        {},
        { ...ON, ...spec('{ interval: 20, timeout: 20, regions: [eu] }') },
      ),
      objectOf('Namespace', 'shop', {}, spec('{ timeout: 30, labels: { team: a, tier: x } }')),
      objectOf(
        'Ingress',
        'web',
        { ingressClassName: 'nginx', rules: rules.slice(0, 1) },
        spec('{ labels: { tier: web }, regions: null, path: /health }'),
      ),
    ];
    const [item] = (await build(objects, { interval: 10, timeout: 10, failureThreshold: 3 })).items;
    expect(item?.entry).toMatchObject({
      name: 'a.example.com/health',
      url: 'http://a.example.com/health',
      interval: 20,
      timeout: 30,
      failureThreshold: 3,
      labels: { team: 'a', tier: 'web', ...LABELS },
    });
    expect(item?.entry).not.toHaveProperty('regions');
  });

  test('waits for creationDelay, and an object can opt out of what it inherits', async () => {
    const delay = { ...ON, 'tocsin.dev/monitor-spec': 'creationDelay: 60' };
    const { items, nextAt } = await build([
      objectOf('IngressClass', 'nginx', {}, ON),
      objectOf('Ingress', 'late', { rules }, delay),
      objectOf('Ingress', 'out', { rules, ingressClassName: 'nginx' }, { 'tocsin.dev/monitor': 'false' }),
    ]);
    expect([items, nextAt]).toEqual([[], Date.parse('2026-01-01T00:01:00Z')]);
  });

  test('gives an Ingress with 1,000 hosts 1,000 monitors, and an HTTPRoute without hosts those of its listeners', async () => {
    const many = Array.from({ length: 1_000 }, (_, index) => ({ host: `h${index}.example.com` }));
    const listener = { name: 'web', port: 443, protocol: 'HTTPS', hostname: 'listener.example.com' };
    const { items } = await build([
      objectOf('Ingress', 'web', { rules: many }, ON),
      objectOf('HTTPRoute', 'route', { parentRefs: [{ name: 'gateway' }] }, ON),
      objectOf('Gateway', 'gateway', { listeners: [listener] }),
    ]);
    expect(new Set(items.map(({ externalId }) => externalId)).size).toBe(1_001);
    expect(items.at(-1)?.url).toBe('https://listener.example.com/');
  });

  test.each([
    ['is not YAML', '{ interval'],
    ['must be a map', '30'],
    ['path: must be text', 'path: health'],
    ['paths: is not a known field', 'paths: /health'],
    ['headers.0: ', 'headers: [null]'],
    ['headers: ', 'headers: { A: b }'],
    ['labels: ', 'labels: text'],
    ['is not YAML (Excessive alias count', BOMB],
    ['is not YAML', '['.repeat(10_000)],
    ['must be at most 16384 characters', `#${'x'.repeat(20_000)}`],
  ])('says why an annotation %s', async (message, text) => {
    const ingress = objectOf('Ingress', 'web', { rules }, { ...ON, 'tocsin.dev/monitor-spec': text });
    expect(((await entryOf(ingress)) as Problem).message).toContain(message);
  });
});
