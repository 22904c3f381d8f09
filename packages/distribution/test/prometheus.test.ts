import { describe, expect, test } from '@jest/globals';
import { readRepositoryFile } from '@tocsin/distribution/repository';
import { createMetrics } from '@tocsin/runtime/metrics';
import { parse } from 'yaml';
import {
  CONFIGURATIONS,
  expressionsOf,
  findRecorded,
  findUnknown,
  readDashboard,
  readDocumentedMetrics,
  readRules,
  DASHBOARDS,
  RULES,
  SERVICE_RULES,
  type Rule,
} from './prometheus.ts';

interface RuleTests {
  readonly tests: readonly {
    readonly alert_rule_test: readonly {
      readonly alertname: string;
      readonly exp_alerts: readonly object[];
    }[];
  }[];
}

const documented = await readDocumentedMetrics();

function alertsOf(rules: readonly Rule[]): string[] {
  return [...new Set(rules.flatMap(({ alert }) => alert ?? []))].toSorted();
}

test('the names of metrics follow the conventions of Prometheus', () => {
  expect(documented.size).toBeGreaterThan(20);
  const odd = [...documented].filter(
    ([name, { type }]) =>
      !/^tocsin(?:_[a-z]+)+$/.test(name) ||
      (type === 'counter') !== name.endsWith('_total') ||
      /_(?:ms|millis|milliseconds|minutes|hours|days|kb|mb|count|sum|bucket)$/.test(name) ||
      (type === 'histogram' && !/_(?:seconds|bytes|results)$/.test(name)),
  );
  expect(odd).toEqual([]);
});

describe.each(Object.entries(RULES))('%s', (path, tests) => {
  test('uses documented metrics, series and labels, and series that it records', async () => {
    const rules = await readRules(path);
    expect(rules.flatMap(({ expr }) => findUnknown(expr, documented))).toEqual([]);
    const recorded = rules.flatMap(({ record }) => record ?? []);
    expect(recorded).toEqual(expect.arrayContaining(rules.flatMap(({ expr }) => findRecorded(expr))));
  });

  test('has alerts that are each tested firing and not firing', async () => {
    const names = alertsOf(await readRules(path));
    const { tests: files } = parse(await readRepositoryFile(tests)) as RuleTests;
    const tried = files.flatMap((each) => each.alert_rule_test);
    for (const fires of [true, false]) {
      const some = tried.filter(({ exp_alerts }) => exp_alerts.length > 0 === fires);
      expect([...new Set(some.map(({ alertname }) => alertname))].toSorted()).toEqual(names);
    }
  });
});

test('each alert of the services names a runbook that mentions it', async () => {
  for (const { alert = '', annotations } of await readRules(SERVICE_RULES)) {
    const runbook = annotations?.runbook_url ?? '';
    expect(runbook).toMatch(/^docs\/runbooks\//);
    expect(await readRepositoryFile(runbook)).toContain(alert);
  }
});

describe('the configurations of Prometheus and Alertmanager', () => {
  test.each(['docs/metrics.md', 'docs/alertmanager.md'])('are those that %s shows', async (page) => {
    const files = await Promise.all(CONFIGURATIONS.map(readRepositoryFile));
    const configured: Record<string, unknown> = Object.assign(
      {},
      ...files.map((text) => parse(text) as object),
    );
    const blocks = [...(await readRepositoryFile(page)).matchAll(/^( *)```yaml\n(.*?)^ *```/gms)];
    expect(blocks.length).toBeGreaterThan(0);
    for (const [, , block = ''] of blocks) {
      for (const [key, shown] of Object.entries(parse(block) as object))
        expect(configured[key]).toEqual(Array.isArray(shown) ? expect.arrayContaining(shown) : shown);
    }
  });

  test('name alerts that exist', async () => {
    const names = alertsOf((await Promise.all(Object.keys(RULES).map(readRules))).flat());
    const pages = await Promise.all([...CONFIGURATIONS, 'docs/alertmanager.md'].map(readRepositoryFile));
    const named = pages.join('\n').match(/\bTocsin(?:[A-Z][a-z]+)+\b/g) ?? [];
    expect(named.length).toBeGreaterThan(5);
    expect(names).toEqual(expect.arrayContaining(named));
  });
});

describe.each(DASHBOARDS)('%s', (path) => {
  test('uses existing metrics, series and labels', async () => {
    const expressions = expressionsOf(await readDashboard(path));
    const rules = (await Promise.all(Object.keys(RULES).map(readRules))).flat();
    const recorded = expressions.flatMap(findRecorded);
    expect(rules.map(({ record }) => record)).toEqual(expect.arrayContaining(recorded));
    const ofProcess = new Set((await createMetrics().getMetricsAsJSON()).map(({ name }) => name));
    const unknown = expressions.flatMap((expr) => [
      ...findUnknown(expr, documented),
      ...(expr.match(/\b(?:process|nodejs)_\w+/g) ?? []).filter((name) => !ofProcess.has(name)),
    ]);
    expect(unknown).toEqual([]);
    expect(expressions.length).toBeGreaterThan(10);
  });
});
