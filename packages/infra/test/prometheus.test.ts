import { access } from 'node:fs/promises';
import { beforeAll, describe, expect, test } from '@jest/globals';
import { findManifest, readManifests } from './manifests.ts';
import {
  findRecorded,
  findUnknown,
  readDocumentedMetrics,
  runPromtool,
  testExpression,
  testWithAmtool,
  testWithPromtool,
} from './prometheus.ts';
import { readRepositoryFile, ROOT } from '@tocsin/infra/repository';
import { runTool } from '@tocsin/infra/run-tool';
import { parse } from 'yaml';
import { MINIMAL } from './chart-variants.ts';
import { renderChart } from './render-chart.ts';

const RULES = 'infra/helm/tocsin/files/tocsin.rules.yaml';
const TESTS = 'packages/infra/test/tocsin.rules.test.yaml';
const MONITOR_RULES = 'infra/prometheus/monitors.rules.yaml';
const MONITOR_TESTS = 'packages/infra/test/monitors.rules.test.yaml';

interface Rule {
  readonly alert: string;
  readonly expr: string;
  readonly annotations: { readonly runbook_url: string };
}
interface RuleTest {
  readonly alert_rule_test: readonly { readonly alertname: string; readonly exp_alerts: readonly object[] }[];
}

interface RecordingRule {
  readonly record: string;
  readonly expr: string;
}

async function readRules(path: string): Promise<readonly (Rule | RecordingRule)[]> {
  const file = parse(await readRepositoryFile(path)) as { groups: { rules: (Rule | RecordingRule)[] }[] };
  return file.groups.flatMap((group) => group.rules);
}

const isAlert = (rule: Rule | RecordingRule): rule is Rule => 'alert' in rule;

let rules: readonly Rule[];
beforeAll(async () => {
  rules = (await readRules(RULES)).filter(isAlert);
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

describe.each([
  [RULES, TESTS],
  [MONITOR_RULES, MONITOR_TESTS],
])('%s', (path, testsPath) => {
  let all: readonly (Rule | RecordingRule)[];
  beforeAll(async () => {
    all = await readRules(path);
  });

  test('uses documented metrics, series and labels, and series that it records', async () => {
    const documented = await readDocumentedMetrics();
    expect(all.flatMap(({ expr }) => findUnknown(expr, documented))).toEqual([]);
    const recorded = all.flatMap((rule) => ('record' in rule ? rule.record : []));
    expect(recorded).toEqual(expect.arrayContaining(all.flatMap(({ expr }) => findRecorded(expr))));
    expect(findUnknown('rate(tocsin_check_total[5m])', documented)).toEqual(['tocsin_check_total']);
    expect(findUnknown('tocsin_checks_overdue{zone="a"}', documented)).toEqual([
      'tocsin_checks_overdue by zone',
    ]);
    expect(findUnknown('rate(tocsin_checks_total_bucket[5m])', documented)).toEqual([
      'tocsin_checks_total_bucket',
    ]);
  });

  test('has alerts that are each tested firing and not firing', async () => {
    const { tests } = parse(await readRepositoryFile(testsPath)) as { tests: RuleTest[] };
    const tried = tests.flatMap((each) => each.alert_rule_test);
    const names = [...new Set(all.filter(isAlert).map(({ alert }) => alert))].toSorted();
    const namesOf = (fires: boolean): string[] =>
      tried.filter(({ exp_alerts }) => exp_alerts.length > 0 === fires).map(({ alertname }) => alertname);
    expect([...new Set(namesOf(true))].toSorted()).toEqual(names);
    expect([...new Set(namesOf(false))].toSorted()).toEqual(names);
  });

  testWithPromtool('passes the checks of promtool and its own tests', async () => {
    await runPromtool('check', 'rules', path);
    await runPromtool('test', 'rules', testsPath);
  });
});

describe('the alerting rules of the services', () => {
  test('name a runbook that mentions them', async () => {
    for (const { alert, annotations } of rules) {
      await expect(access(ROOT + annotations.runbook_url)).resolves.toBeUndefined();
      expect(await readRepositoryFile(annotations.runbook_url)).toContain(alert);
    }
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

describe('the query of KEDA', () => {
  async function readQuery(matchers: string): Promise<string> {
    const keda = { enabled: true, prometheus: { serverAddress: 'http://prometheus:9090', matchers } };
    const manifests = readManifests(
      await renderChart({ ...MINIMAL, regions: { default: null, eu: {} }, keda }),
    );
    const { triggers } = findManifest(manifests, 'ScaledObject')['spec'] as {
      triggers: { metadata: { query: string } }[];
    };
    return triggers[0]?.metadata.query ?? '';
  }

  test('uses documented metrics', async () => {
    expect(findUnknown(await readQuery(''), await readDocumentedMetrics())).toEqual([]);
  });

  testWithPromtool(
    'adds up the cores of the checkers of the region, also of one that was removed',
    async () => {
      const cpu = (instance: string, namespace = 'a'): string =>
        `process_cpu_seconds_total{job="tocsin",instance="${instance}",namespace="${namespace}"}`;
      const checks = (instance: string, region: string, namespace = 'a'): string =>
        `tocsin_check_schedule_lag_seconds_count{job="tocsin",instance="${instance}",namespace="${namespace}",region="${region}"}`;
      // Rates that are sums of powers of two: their total is exact in whatever order Prometheus adds them.
      const values = {
        [cpu('busy')]: '0+15x20',
        [checks('busy', 'eu')]: '0+900x20',
        [cpu('idle')]: '0+3.75x20',
        [checks('idle', 'eu')]: '0x20',
        [cpu('removed')]: '0+7.5x19 stale',
        [checks('removed', 'eu')]: '0+90x19 stale',
        [cpu('other region')]: '0+15x20',
        [checks('other region', 'us')]: '0+900x20',
        [cpu('other namespace', 'b')]: '0+15x20',
        [checks('other namespace', 'eu', 'b')]: '0+900x20',
        [cpu('api')]: '0+15x20',
      };
      // After 20 minutes, there is no data.
      await testExpression(await readQuery('namespace="a"'), values, { '10m': 0.875, '20m': null });
    },
  );
});

describe('the configurations of Prometheus and Alertmanager', () => {
  const FILES = ['infra/prometheus/prometheus.yml', 'infra/prometheus/alertmanager.yml'];

  test.each(['docs/metrics.md', 'docs/alertmanager.md'])('are those that %s shows', async (page) => {
    const files = await Promise.all(FILES.map(readRepositoryFile));
    const configured: Record<string, unknown> = Object.assign(
      {},
      ...files.map((text) => parse(text) as object),
    );
    const blocks = [...(await readRepositoryFile(page)).matchAll(/^( *)```yaml\n(.*?)^ *```/gms)];
    expect(blocks.length).toBeGreaterThan(0);
    for (const [, , block = ''] of blocks) {
      for (const [key, shown] of Object.entries(parse(block) as Record<string, unknown>)) {
        const whole = configured[key];
        expect(whole).toEqual(Array.isArray(shown) ? expect.arrayContaining(shown) : shown);
      }
    }
  });

  testWithPromtool('are valid for Prometheus', () =>
    runPromtool('check', 'config', '--syntax-only', 'infra/prometheus/prometheus.yml'),
  );

  testWithAmtool('are valid for Alertmanager, which pages for critical alerts', async () => {
    const file = 'infra/prometheus/alertmanager.yml';
    await runTool('amtool', ['check-config', file], { cwd: ROOT });
    const routeOf = (severity: string, receiver: string): Promise<unknown> =>
      runTool(
        'amtool',
        [
          'config',
          'routes',
          'test',
          `--config.file=${file}`,
          `--verify.receivers=${receiver}`,
          `severity=${severity}`,
        ],
        { cwd: ROOT },
      );
    await routeOf('critical', 'pager');
    await routeOf('warning', 'tickets');
    await expect(routeOf('warning', 'pager')).rejects.toThrow();
  });

  test('name alerts that exist', async () => {
    const all = [...(await readRules(MONITOR_RULES)), ...rules].filter(isAlert);
    const names = new Set(all.map(({ alert }) => alert));
    const pages = await Promise.all([...FILES, 'docs/alertmanager.md'].map(readRepositoryFile));
    const named = pages.join('\n').match(/\bTocsin(?:[A-Z][a-z]+)+\b/g) ?? [];
    expect(named.length).toBeGreaterThan(5);
    expect([...new Set(named)].filter((name) => !names.has(name))).toEqual([]);
  });
});
