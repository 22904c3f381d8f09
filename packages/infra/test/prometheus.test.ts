import { access } from 'node:fs/promises';
import { beforeAll, describe, expect, test } from '@jest/globals';
import { CHART } from '@tocsin/infra/helm';
import { findManifest, readManifests } from './manifests.ts';
import {
  checkExpressions,
  findUnknown,
  readDocumentedMetrics,
  runPromtool,
  testWithPromtool,
} from './prometheus.ts';
import { readRepositoryFile, ROOT } from '@tocsin/infra/repository';
import { parse } from 'yaml';
import { MINIMAL } from './chart-variants.ts';
import { renderChart } from './render-chart.ts';

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

test('the names of metrics follow the conventions of Prometheus', async () => {
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
  test('use documented metrics, series and labels', async () => {
    const documented = await readDocumentedMetrics();
    expect(rules.flatMap(({ expr }) => findUnknown(expr, documented))).toEqual([]);
    expect(findUnknown('rate(tocsin_check_total[5m])', documented)).toEqual(['tocsin_check_total']);
    expect(findUnknown('tocsin_checks_overdue{zone="a"}', documented)).toEqual([
      'tocsin_checks_overdue by zone',
    ]);
    expect(findUnknown('rate(tocsin_checks_total_bucket[5m])', documented)).toEqual([
      'tocsin_checks_total_bucket',
    ]);
  });

  test('name a runbook that mentions them', async () => {
    for (const { alert, annotations } of rules) {
      await expect(access(ROOT + annotations.runbook_url)).resolves.toBeUndefined();
      expect(await readRepositoryFile(annotations.runbook_url)).toContain(alert);
    }
  });

  test('are each tested firing and not firing', () => {
    const tried = tests.flatMap((each) => each.alert_rule_test);
    const names = rules.map(({ alert }) => alert).toSorted();
    const namesOf = (fires: boolean): string[] =>
      tried.filter(({ exp_alerts }) => exp_alerts.length > 0 === fires).map(({ alertname }) => alertname);
    expect([...new Set(namesOf(true))].toSorted()).toEqual(names);
    expect([...new Set(namesOf(false))].toSorted()).toEqual(names);
  });

  testWithPromtool('pass the checks of promtool and their own tests', async () => {
    await runPromtool('check', 'rules', RULES);
    await runPromtool('test', 'rules', TESTS);
  });

  test('are part of the chart, with a prefix for the links to runbooks', async () => {
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

  testWithPromtool('is a valid expression', () => checkExpressions([query]));
});
