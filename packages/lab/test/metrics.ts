import { readFile } from 'node:fs/promises';
import { beforeAll, describe, expect, test } from '@jest/globals';
import type { ServiceName, ServiceProcess } from '@tocsin/lab/service-process';
import { until } from '@tocsin/embedded/testing/until';
import { parse } from 'yaml';

const PAGE = new URL('../../../docs/metrics.md', import.meta.url);
const RULES = new URL('../../../infra/helm/tocsin/files/tocsin.rules.yaml', import.meta.url);

interface Documented {
  readonly type: string;
  readonly labels: readonly string[];
}

/** Tests that the documentation and the alerting rules match the metrics of services that run and have work. */
export function testMetrics(services: () => Record<ServiceName, ServiceProcess>): void {
  let page: string;
  let rulesFile: string;
  /** The metrics page of each service. */
  const scraped = new Map<string, string>();
  beforeAll(async () => {
    [page, rulesFile] = await Promise.all([readFile(PAGE, 'utf8'), readFile(RULES, 'utf8')]);
    for (const [name, service] of Object.entries(services())) scraped.set(name, await service.metrics());
  });

  /** The table of one service, by name of the metric. */
  function documentedOf(service: string): Map<string, Documented> {
    const [, section = ''] = new RegExp(`^## ${service}$(.*?)^## `, 'ms').exec(page) ?? [];
    const rows = section.matchAll(/^\| `(\w+)` +\| (\w+) +\| ([^|]*?) *\|/gm);
    return new Map(
      [...rows].map(([, name = '', type = '', labels = '']) => [
        name,
        { type, labels: [...labels.matchAll(/`(\w+)`/g)].map(([, label = '']) => label) },
      ]),
    );
  }

  function allDocumented(): Map<string, Documented> {
    return new Map([...scraped.keys()].flatMap((service) => [...documentedOf(service)]));
  }

  describe.each(['api', 'checker', 'notifier'])('the metrics of the %s', (service) => {
    test('are those on the reference page, with their types', () => {
      const shown = [...(scraped.get(service) ?? '').matchAll(/^# TYPE (tocsin_\w+) (\w+)$/gm)];
      const documented = [...documentedOf(service)].map(([name, { type }]) => `${name} ${type}`);
      expect(documented.toSorted()).toEqual(shown.map(([, name, type]) => `${name} ${type}`).toSorted());
      expect(documented.length).toBeGreaterThan(5);
    });

    test('have the labels on the reference page', () => {
      const documented = documentedOf(service);
      const samples = [
        ...(scraped.get(service) ?? '').matchAll(/^(tocsin_\w+?)(?:_bucket|_sum|_count)?\{(.+)\} /gm),
      ];
      for (const [, name = '', labels = ''] of samples) {
        const names = [...labels.matchAll(/(\w+)="/g)]
          .map(([, label = '']) => label)
          .filter((label) => label !== 'le');
        expect({ name, labels: names.toSorted() }).toEqual({
          name,
          labels: documented.get(name)?.labels.toSorted(),
        });
      }
      expect(samples.length).toBeGreaterThan(0);
    });
  });

  describe('the alerting rules', () => {
    interface Rule {
      readonly alert: string;
      readonly expr: string;
      readonly for?: string;
      readonly labels: Record<string, string>;
      readonly annotations: { summary: string; runbook_url: string };
    }

    function readRules(): Rule[] {
      const { groups } = parse(rulesFile) as { groups: { name: string; rules: Rule[] }[] };
      expect(groups.map(({ name }) => name)).toEqual(['tocsin']);
      return groups.flatMap(({ rules }) => rules);
    }

    test('are valid rules for Prometheus with unique names', () => {
      const rules = readRules();
      expect(rules.length).toBeGreaterThan(5);
      for (const rule of rules) {
        expect(rule).toEqual({
          alert: expect.stringMatching(/^Tocsin\w+$/),
          expr: expect.any(String),
          ...(rule.for !== undefined && { for: expect.stringMatching(/^\d+[smh]$/) }),
          labels: {
            severity: expect.stringMatching(/^(warning|critical)$/),
            // The alerts about missing metrics have no labels of a series.
            ...(rule.expr.startsWith('absent(') && {
              component: expect.stringMatching(/^(api|checker|notifier)$/),
            }),
          },
          annotations: {
            summary: expect.any(String),
            runbook_url: expect.stringMatching(/^docs\/runbooks\/[a-z-]+\.md$/),
          },
        });
      }
      expect(new Set(rules.map(({ alert }) => alert)).size).toBe(rules.length);
    });

    test('use metrics, labels and series that exist', () => {
      const documented = allDocumented();
      for (const { expr } of readRules()) {
        const names = [...expr.matchAll(/\b(tocsin_\w+)(?:\{([^}]*)\})?/g)];
        expect(names.length).toBeGreaterThan(0);
        for (const [, series = '', matchers = ''] of names) {
          const name = series.replace(/_(?:bucket|count)$/, '');
          const metric = documented.get(name);
          expect({ series, found: metric?.type }).toEqual({
            series,
            found: series === name ? expect.stringMatching(/gauge|counter/) : 'histogram',
          });
          const labels = [...matchers.matchAll(/(\w+)(?:=|!=|=~)"/g)].map(([, label = '']) => label);
          const grouped = [...expr.matchAll(/by \(([^)]*)\)/g)].flatMap(([, list = '']) => list.split(/, */));
          const known = [...(metric?.labels ?? []), ...(metric?.type === 'histogram' ? ['le'] : [])];
          expect(known).toEqual(expect.arrayContaining([...labels, ...grouped]));
        }
      }
    });

    test('do not fire while the system is healthy', async () => {
      const quiet: [ServiceName, string][] = [
        ['api', 'tocsin_checks_overdue{region="default"} 0'],
        ['api', 'tocsin_region_workers{region="default"} 1'],
        ['notifier', 'tocsin_channels{state="disabled_by_service"} 0'],
        ['checker', 'tocsin_checks_missed_total{region="default",reason="crashed"} 0'],
      ];
      for (const [name, series] of quiet) {
        await until(series, async () => (await services()[name].metrics()).includes(series));
      }
    });
  });
}
