import { BlockList } from 'node:net';
import { expect, test } from '@jest/globals';
import { DENIED_IPV4 } from '@tocsin/egress/denied-ranges';
import { CHART } from '@tocsin/distribution/helm';
import { readRepositoryFile } from '@tocsin/distribution/repository';
import { settings } from '@tocsin/runtime/settings';
import { parse } from 'yaml';
import { VARIANTS } from './chart-variants.ts';

interface Property {
  readonly properties?: Readonly<Record<string, Property>>;
  readonly patternProperties?: Readonly<Record<string, Property>>;
}

const schema = JSON.parse(await readRepositoryFile(`${CHART}/values.schema.json`)) as Required<Property>;
const values = parse(await readRepositoryFile(`${CHART}/values.yaml`)) as Record<string, object>;

function keysOf({ properties = {} }: Property = {}): string[] {
  return Object.keys(properties).toSorted();
}

test('values.schema.json has the values of values.yaml, which the README describes', async () => {
  const readme = await readRepositoryFile(`${CHART}/README.md`);
  const known = keysOf(schema).filter((name) => name !== 'global');
  expect(Object.keys(values).toSorted()).toEqual(known);
  for (const [name, property] of Object.entries(schema.properties)) {
    if (property.properties === undefined || ['secrets', 'settings'].includes(name)) continue;
    expect([name, ...Object.keys(values[name] ?? {}).toSorted()]).toEqual([name, ...keysOf(property)]);
  }
  const undescribed = known.filter((name) => !new RegExp(`\`${name}[\`.]`).test(readme));
  expect(undescribed).toEqual(['fullnameOverride', 'nameOverride']);
});

/** The path and the value of each part of a map that is not a map itself. */
function leavesOf(value: unknown, path: readonly string[] = []): [path: readonly string[], value: unknown][] {
  const isMap = typeof value === 'object' && value !== null && !Array.isArray(value);
  const entries = isMap ? Object.entries(value) : [];
  return entries.length === 0
    ? [[path, value]]
    : entries.flatMap(([key, part]) => leavesOf(part, [...path, key]));
}

test('every value differs from its default in some set of values that the tests of the chart use', () => {
  const partOf = (value: unknown, path: readonly string[]): unknown =>
    path.reduce((part, key) => (part as Record<string, unknown> | undefined)?.[key], value);
  const unused = leavesOf(values).filter(([path, initial]) =>
    Object.values(VARIANTS).every((variant) => {
      const value = partOf(variant, path);
      return value === undefined || JSON.stringify(value) === JSON.stringify(initial);
    }),
  );
  expect(unused.map(([path]) => path.join('.'))).toEqual([]);
});

test('values.schema.json lets a region override everything of checker, keda and autoscaling', () => {
  const [region] = Object.values(schema.properties['regions']?.patternProperties ?? {});
  const { keda, autoscaling, ...checker } = region?.properties ?? {};
  const overridable = (name: string): string[] =>
    keysOf(schema.properties[name]).filter((key) => key !== 'enabled');
  expect(keysOf({ properties: checker })).toEqual(overridable('checker'));
  expect(keysOf(keda)).toEqual(overridable('keda'));
  expect(keysOf(autoscaling)).toEqual(overridable('autoscaling'));
});

test('values.schema.json knows every setting, and which of them are secrets', () => {
  // The chart sets these itself, or has its own values for them.
  const others = `PORT HOST HEALTH_PORT HEALTH_HOST DASHBOARD_DIR REGION CHECK_CONCURRENCY CHECK_CA_FILE WEBHOOK_CA_FILE DATA_DIR AGENT_PORT TOCSIN_URL AGENT_TOKEN AGENT_CONCURRENCY HTTPS_PROXY TOCSIN_API_KEY CLUSTER_NAME WATCH_NAMESPACES POD_NAMESPACE KUBECONFIG DEFAULTS`;
  const named = ['settings', 'secrets'].flatMap((name) => keysOf(schema.properties[name]));
  expect([...named, ...others.split(' ')].toSorted()).toEqual(Object.keys(settings.shape).toSorted());
});

test('the default network policy denies the same cloud metadata addresses as the egress guard', () => {
  const { privateRanges } = values['networkPolicy'] as { privateRanges: string[] };
  const denied = new BlockList();
  for (const range of privateRanges) {
    const [network = '', bits] = range.split('/');
    denied.addSubnet(network, Number(bits));
  }
  const metadata = DENIED_IPV4.flatMap(([cidr, reason]) =>
    reason === 'a cloud metadata address' ? [cidr.replace(/\/32$/, '')] : [],
  );
  expect(metadata).toEqual(expect.arrayContaining(['168.63.129.16', '192.0.0.192']));
  expect(metadata.filter((address) => !denied.check(address))).toEqual([]);
});
