import { beforeAll, describe, expect, test } from '@jest/globals';
import { CHART } from '@tocsin/infra/helm';
import { readRepositoryFile } from '@tocsin/infra/repository';
import { ToolError } from '@tocsin/infra/run-tool';
import { settings } from '@tocsin/runtime/settings';
import { parse } from 'yaml';
import { MINIMAL } from './chart-variants.ts';
import { findProblems, readManifests } from './manifests.ts';
import { renderChart } from './render-chart.ts';

describe('null', () => {
  type Values = Record<string, unknown>;
  type Entry = readonly [path: readonly string[], value: unknown];
  const isMap = (value: unknown): value is Values =>
    typeof value === 'object' && value !== null && !Array.isArray(value);
  const isEmpty = (value: unknown): boolean =>
    value === '' || (typeof value === 'object' && value !== null && Object.keys(value).length === 0);
  /** Maps with defaults that Kubernetes does not require. */
  const REMOVABLE = ['resources', 'labels'];

  /** Every value of values.yaml, also the maps. */
  function entriesOf(values: Values, prefix: readonly string[] = []): Entry[] {
    return Object.entries(values).flatMap(([name, value]): Entry[] => {
      const path = [...prefix, name];
      const inner = isMap(value) && ![...REMOVABLE, 'regions'].includes(name) ? entriesOf(value, path) : [];
      return [[path, value], ...inner];
    });
  }

  /** Sets a value that the values do not have yet. */
  function setMissing(values: Values, [name = '', ...rest]: readonly string[], value: unknown): void {
    if (rest.length === 0) values[name] ??= value;
    else setMissing((values[name] ??= {}) as Values, rest, value);
  }

  let entries: Entry[];
  beforeAll(async () => {
    entries = entriesOf(parse(await readRepositoryFile(`${CHART}/values.yaml`)) as Values);
  });

  test.each([1, 2, 3])('is refused for a value that the chart needs, at depth %i', async (depth) => {
    const needed = entries.filter(
      ([path, value]) =>
        path.length === depth && !isEmpty(value) && !REMOVABLE.includes(path[path.length - 1] ?? ''),
    );
    expect(needed.length).toBeGreaterThan(4);
    const values = structuredClone<Values>({ existingSecret: 'x' });
    for (const [path] of needed) setMissing(values, path, null);
    const error: unknown = await renderChart(values).catch((thrown: unknown) => thrown);
    const output = String(error);
    const unnamed = needed.filter(([path]) => {
      const parent = path.slice(0, -1).map((name) => `/${name}`);
      const line = output
        .split('\n')
        .find((each) => each.trimStart().startsWith(`- at '${parent.join('')}': missing propert`));
      return line?.includes(`'${path[path.length - 1]}'`) !== true;
    });
    expect({ error, unnamed: unnamed.map(([path]) => path.join('.')) }).toEqual({
      error: expect.any(ToolError),
      unnamed: [],
    });
  });

  test.each<[string, Values]>([
    ['KEDA', { keda: { enabled: true, prometheus: { serverAddress: 'b' } } }],
    ['autoscaling', { autoscaling: { enabled: true } }],
  ])('works like an empty value elsewhere, with %s', async (_name, scaling) => {
    const render = async (empty: (value: unknown) => unknown): Promise<string> => {
      const values = structuredClone<Values>({
        ...MINIMAL,
        ...scaling,
        ingress: { enabled: true, host: 'a.example.com' },
        httpRoute: { enabled: true, parentRefs: [{ name: 'a' }] },
        serviceMonitor: { enabled: true },
        prometheusRule: { enabled: true },
        grafanaDashboard: { enabled: true },
      });
      for (const [path, value] of entries) if (isEmpty(value)) setMissing(values, path, empty(value));
      return renderChart(values);
    };
    expect(await render(() => null)).toEqual(await render((value) => value));
  });

  test('as secrets is reported as missing secrets', async () => {
    const rendering = renderChart({ image: MINIMAL.image, secrets: null });
    await expect(rendering).rejects.toThrow('or set secrets.SECRETS_KEY');
  });

  test('removes resources and labels', async () => {
    const none = { resources: null };
    const rendered = await renderChart({
      ...MINIMAL,
      api: none,
      notifier: none,
      checker: none,
      migrations: none,
      grafanaDashboard: { enabled: true, labels: null },
    });
    expect(rendered).not.toMatch(/resources:|grafana_dashboard:/);
    expect(await findProblems(readManifests(rendered))).toEqual([]);
  });
});

describe('values.schema.json', () => {
  interface Property {
    readonly properties?: object;
    readonly patternProperties?: Readonly<Record<string, Property>>;
  }
  interface Schema {
    readonly properties: Readonly<Record<string, Property>>;
  }
  const readSchema = async (): Promise<Schema> =>
    JSON.parse(await readRepositoryFile(`${CHART}/values.schema.json`)) as Schema;

  test('has the values of values.yaml, which the README describes', async () => {
    const { properties } = await readSchema();
    const values = parse(await readRepositoryFile(`${CHART}/values.yaml`)) as Record<string, unknown>;
    const readme = await readRepositoryFile(`${CHART}/README.md`);
    const known = Object.keys(properties).filter((name) => name !== 'global');
    expect(Object.keys(values).toSorted()).toEqual(known.toSorted());
    for (const [name, { properties: inner }] of Object.entries(properties)) {
      if (inner === undefined || ['secrets', 'settings'].includes(name)) continue;
      expect({ [name]: Object.keys(values[name] as object).toSorted() }).toEqual({
        [name]: Object.keys(inner).toSorted(),
      });
    }
    const undescribed = known.filter((name) => !new RegExp(`\`${name}[\`.]`).test(readme));
    expect(undescribed).toEqual(['nameOverride', 'fullnameOverride']);
  });

  test('lets a region override everything of checker, keda and autoscaling', async () => {
    const { properties } = await readSchema();
    const [region] = Object.values(properties['regions']?.patternProperties ?? {});
    const { keda, autoscaling, ...checker } = (region?.properties ?? {}) as Record<string, Property>;
    const withoutEnabled = (name: string): string[] =>
      Object.keys(properties[name]?.properties ?? {}).filter((key) => key !== 'enabled');
    expect(Object.keys(checker)).toEqual(withoutEnabled('checker'));
    expect(Object.keys(keda?.properties ?? {})).toEqual(withoutEnabled('keda'));
    expect(Object.keys(autoscaling?.properties ?? {})).toEqual(withoutEnabled('autoscaling'));
  });

  test('knows every setting, and which of them are secrets', async () => {
    const { properties } = await readSchema();
    const named = ['settings', 'secrets'].flatMap((name) => Object.keys(properties[name]?.properties ?? {}));
    // Settings that the chart sets itself, or that have values of their own.
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
      'DATA_DIR',
    ];
    expect([...named, ...others].toSorted()).toEqual(Object.keys(settings.shape).toSorted());
  });
});
