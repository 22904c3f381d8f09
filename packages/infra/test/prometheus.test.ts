import { access, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from '@jest/globals';
import { CHART, renderChart } from '@tocsin/infra/helm';
import { findManifest, readManifests } from '@tocsin/infra/manifests';
import { findUnknown, hasPromtool, readDocumentedMetrics, runPromtool } from '@tocsin/infra/prometheus';
import { readRepositoryFile, ROOT } from '@tocsin/infra/repository';
import { parse, stringify } from 'yaml';
import { MINIMAL } from './chart-variants.ts';

const RULES = 'infra/helm/tocsin/files/tocsin.rules.yaml';
const TESTS = 'packages/infra/test/tocsin.rules.test.yaml';

interface Rule {
  readonly alert: string;
  readonly expr: string;
  readonly annotations: { readonly runbook_url: string };
}
interface RuleTest {
  readonly alert_rule_test: readonly { readonly alertname: string; readonly exp_alerts: readonly object[] }[];
}

let rules: readonly Rule[];
let tests: readonly RuleTest[];
beforeAll(async () => {
  const file = parse(await readRepositoryFile(RULES)) as { groups: { rules: Rule[] }[] };
  rules = file.groups.flatMap((group) => group.rules);
  ({ tests } = parse(await readRepositoryFile(TESTS)) as { tests: RuleTest[] });
});

test('metrics are named as Prometheus has it: units at the end, in seconds and bytes, and totals of counters alone', async () => {
  const documented = [...(await readDocumentedMetrics())];
  expect(documented.length).toBeGreaterThan(20);
  const odd = documented.filter(
    ([name, { type }]) =>
      !/^tocsin(?:_[a-z]+)+$/.test(name) ||
      (type === 'counter') !== name.endsWith('_total') ||
      /_(?:ms|millis|milliseconds|minutes|hours|days|kb|mb|count|sum|bucket)$/.test(name) ||
      (type === 'histogram' && !/_(?:seconds|bytes|results)$/.test(name)),
  );
  expect(odd).toEqual([]);
});

describe('the alerting rules', () => {
  test('ask for metrics, series and labels that there are', async () => {
    const documented = await readDocumentedMetrics();
    expect(rules.flatMap(({ expr }) => findUnknown(expr, documented))).toEqual([]);
    // The judge judged.
    expect(findUnknown('rate(tocsin_check_total[5m])', documented)).toEqual(['tocsin_check_total']);
    expect(findUnknown('tocsin_checks_overdue{zone="a"}', documented)).toEqual([
      'tocsin_checks_overdue by zone',
    ]);
    expect(findUnknown('rate(tocsin_checks_total_bucket[5m])', documented)).toEqual([
      'tocsin_checks_total_bucket',
    ]);
  });

  test('name a runbook that tells of them', async () => {
    for (const { alert, annotations } of rules) {
      await expect(access(ROOT + annotations.runbook_url)).resolves.toBeUndefined();
      expect(await readRepositoryFile(annotations.runbook_url)).toContain(alert);
    }
  });

  test('are each tried where they are silent and where they are not', () => {
    const tried = tests.flatMap((each) => each.alert_rule_test);
    const names = rules.map(({ alert }) => alert).toSorted();
    const namesOf = (fires: boolean): string[] =>
      tried.filter(({ exp_alerts }) => exp_alerts.length > 0 === fires).map(({ alertname }) => alertname);
    expect([...new Set(namesOf(true))].toSorted()).toEqual(names);
    expect([...new Set(namesOf(false))].toSorted()).toEqual(names);
  });

  (hasPromtool() ? test : test.skip)('are taken by promtool, and do what their tests say', async () => {
    expect(await runPromtool('check', 'rules', RULES)).toMatchObject({ content: true });
    expect(await runPromtool('test', 'rules', TESTS)).toMatchObject({ content: true });
  });

  test('come with the chart as they are, with an address before the runbooks where one is given', async () => {
    const values = {
      ...MINIMAL,
      prometheusRule: { enabled: true, runbookBase: 'https://git.example.com/tocsin/' },
    };
    const rule = findManifest(readManifests(await renderChart(values)), 'PrometheusRule');
    const { groups } = rule['spec'] as { groups: { rules: Rule[] }[] };
    expect(groups.flatMap((group) => group.rules)).toEqual(
      rules.map(({ annotations, ...other }) => ({
        ...other,
        annotations: {
          ...annotations,
          runbook_url: `https://git.example.com/tocsin/${annotations.runbook_url}`,
        },
      })),
    );
  });
});

interface AdapterRule {
  readonly seriesQuery: string;
  readonly name: { readonly as: string };
  readonly metricsQuery: string;
}

describe('the rule for prometheus-adapter in the README of the chart', () => {
  let rule: AdapterRule;
  let query: string;
  beforeAll(async () => {
    const readme = await readRepositoryFile(`${CHART}/README.md`);
    const [, block = ''] = /```yaml\n(externalRules:.*?)```/s.exec(readme) ?? [];
    ({
      externalRules: [rule],
    } = parse(block) as { externalRules: [AdapterRule] });
    const [series = ''] = rule.seriesQuery.split('{');
    query = rule.metricsQuery.replace('<<.Series>>', series).replace('<<.LabelMatchers>>', 'region="eu"');
  });

  test('computes the same lag as the query of KEDA', async () => {
    const keda = { enabled: true, prometheus: { serverAddress: 'http://prometheus:9090' } };
    const manifests = readManifests(
      await renderChart({ ...MINIMAL, regions: { default: null, eu: {} }, keda }),
    );
    const { triggers } = findManifest(manifests, 'ScaledObject')['spec'] as {
      triggers: { metadata: { query: string } }[];
    };
    expect(query).toBe(triggers[0]?.metadata.query);
    expect(findUnknown(query, await readDocumentedMetrics())).toEqual([]);
  });

  (hasPromtool() ? test : test.skip)('is a valid expression', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'tocsin-adapter-'));
    try {
      const file = join(folder, 'rules.yaml');
      const rules = [{ record: rule.name.as, expr: query }];
      await writeFile(file, stringify({ groups: [{ name: 'adapter', rules }] }));
      expect(await runPromtool('check', 'rules', file)).toMatchObject({ content: true });
    } finally {
      await rm(folder, { recursive: true });
    }
  });
});
