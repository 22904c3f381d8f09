import { beforeAll, describe, expect, test } from '@jest/globals';
import { findManifest, readManifests } from './manifests.ts';
import {
  checkExpressions,
  findRecorded,
  findUnknown,
  readDocumentedMetrics,
  testWithPromtool,
} from './prometheus.ts';
import { readRepositoryFile } from '@tocsin/infra/repository';
import { createMetrics } from '@tocsin/runtime/metrics';
import { parse } from 'yaml';
import { MINIMAL } from './chart-variants.ts';
import { renderChart } from './render-chart.ts';

const DASHBOARD = 'infra/helm/tocsin/files/tocsin-dashboard.json';
const MONITOR_DASHBOARD = 'infra/prometheus/monitor-dashboard.json';
const MONITOR_RULES = 'infra/prometheus/monitors.rules.yaml';

interface Panel {
  readonly id: number;
  readonly title: string;
  readonly type: string;
  readonly gridPos: { readonly x: number; readonly y: number; readonly w: number; readonly h: number };
  readonly targets?: readonly { readonly expr: string }[];
}
interface Dashboard {
  readonly panels: readonly Panel[];
  readonly templating: { readonly list: readonly { readonly name: string; readonly definition?: string }[] };
}

async function readDashboard(path: string): Promise<Dashboard> {
  return JSON.parse(await readRepositoryFile(path)) as Dashboard;
}

function expressionsOf({ panels }: Dashboard): string[] {
  return panels.flatMap(({ targets = [] }) => targets.map(({ expr }) => expr));
}

describe.each([
  [DASHBOARD, 20],
  [MONITOR_DASHBOARD, 10],
])('%s', (path, expected) => {
  let dashboard: Dashboard;
  let expressions: readonly string[];
  beforeAll(async () => {
    dashboard = await readDashboard(path);
    expressions = expressionsOf(dashboard);
  });

  test('uses existing metrics, series and labels', async () => {
    const documented = await readDocumentedMetrics();
    const own = createMetrics();
    const ofProcess = new Set((await own.getMetricsAsJSON()).map(({ name }) => name));
    const unknown = expressions.flatMap((expr) => [
      ...findUnknown(expr, documented),
      ...(expr.match(/\b(?:process|nodejs)_\w+/g) ?? []).filter((name) => !ofProcess.has(name)),
    ]);
    expect(unknown).toEqual([]);
    expect(expressions.length).toBeGreaterThan(expected);
  });

  test('has panels with unique ids that do not overlap, and uses only its own variables', () => {
    const cells = new Map<string, number>();
    for (const { id, gridPos } of dashboard.panels) {
      expect(gridPos.x + gridPos.w).toBeLessThanOrEqual(24);
      for (let x = gridPos.x; x < gridPos.x + gridPos.w; x += 1) {
        for (let y = gridPos.y; y < gridPos.y + gridPos.h; y += 1) {
          expect({ id, over: cells.get(`${x},${y}`) }).toEqual({ id, over: undefined });
          cells.set(`${x},${y}`, id);
        }
      }
    }
    expect(new Set(dashboard.panels.map(({ id }) => id)).size).toBe(dashboard.panels.length);
    const used = expressions
      .flatMap((expr) => expr.match(/\$\w+/g) ?? [])
      .filter((name) => !['$__rate_interval', '$__range'].includes(name));
    const known = dashboard.templating.list.map(({ name }) => `$${name}`);
    expect(known).toEqual(expect.arrayContaining(used));
  });

  testWithPromtool('has expressions that Prometheus accepts', () =>
    checkExpressions(
      expressions.map((expr) =>
        expr.replaceAll(/\$__(?:rate_interval|range)/g, '5m').replaceAll(/\$\w+/g, '.*'),
      ),
    ),
  );
});

describe('the dashboards', () => {
  test('show every metric about the state of checks and alerts', async () => {
    const dashboards = await Promise.all([DASHBOARD, MONITOR_DASHBOARD].map(readDashboard));
    const all = dashboards.flatMap(expressionsOf).join('\n');
    const documented = [...(await readDocumentedMetrics()).keys()];
    // These explain other metrics. docs/metrics.md describes them.
    const others = [
      'tocsin_region_isolated',
      'tocsin_region_monitors',
      'tocsin_event_partitions_unpacked',
      'tocsin_leader',
      'tocsin_clock_offset_seconds',
      'tocsin_rollup_watermark_seconds',
      'tocsin_rollup_gaps',
      'tocsin_checks_skipped_total',
      'tocsin_results_dropped_total',
      'tocsin_record_batch_results',
      'tocsin_canary_rounds_total',
      'tocsin_channels_disabled_total',
      'tocsin_maintenance_late_seconds',
    ];
    expect(documented.filter((name) => !all.includes(name)).toSorted()).toEqual(others.toSorted());
  });

  test('show recorded series that the rules record', async () => {
    const { groups } = parse(await readRepositoryFile(MONITOR_RULES)) as {
      groups: { rules: { record?: string }[] }[];
    };
    const recorded = groups.flatMap(({ rules }) => rules.flatMap(({ record }) => record ?? []));
    const used = expressionsOf(await readDashboard(MONITOR_DASHBOARD)).flatMap(findRecorded);
    expect(used.length).toBeGreaterThan(0);
    expect(recorded).toEqual(expect.arrayContaining(used));
  });

  test('of the services are part of the chart, unchanged', async () => {
    const chart = await renderChart({ ...MINIMAL, grafanaDashboard: { enabled: true } });
    const found = findManifest(readManifests(chart), 'ConfigMap', 'up-tocsin-grafana');
    expect(found.metadata.labels).toMatchObject({ grafana_dashboard: '1' });
    expect(JSON.parse((found['data'] as Record<string, string>)['tocsin.json'] ?? '')).toEqual(
      await readDashboard(DASHBOARD),
    );
  });
});
