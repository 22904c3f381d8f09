import { beforeAll, describe, expect, test } from '@jest/globals';
import { findManifest, readManifests } from './manifests.ts';
import { checkExpressions, findUnknown, readDocumentedMetrics, testWithPromtool } from './prometheus.ts';
import { readRepositoryFile } from '@tocsin/infra/repository';
import { createMetrics } from '@tocsin/runtime/metrics';
import { MINIMAL } from './chart-variants.ts';
import { renderChart } from './render-chart.ts';

const DASHBOARD = 'infra/helm/tocsin/files/tocsin-dashboard.json';

interface Panel {
  readonly id: number;
  readonly title: string;
  readonly type: string;
  readonly gridPos: { readonly x: number; readonly y: number; readonly w: number; readonly h: number };
  readonly targets?: readonly { readonly expr: string }[];
}
interface Dashboard {
  readonly panels: readonly Panel[];
  readonly templating: { readonly list: readonly { readonly name: string }[] };
}

let dashboard: Dashboard;
let expressions: readonly string[];
beforeAll(async () => {
  dashboard = JSON.parse(await readRepositoryFile(DASHBOARD)) as Dashboard;
  expressions = dashboard.panels.flatMap(({ targets = [] }) => targets.map(({ expr }) => expr));
});

describe('the Grafana dashboard', () => {
  test('uses existing metrics, series and labels', async () => {
    const documented = await readDocumentedMetrics();
    const own = createMetrics();
    const ofProcess = new Set((await own.getMetricsAsJSON()).map(({ name }) => name));
    const unknown = expressions.flatMap((expr) => [
      ...findUnknown(expr, documented),
      ...(expr.match(/\b(?:process|nodejs)_\w+/g) ?? []).filter((name) => !ofProcess.has(name)),
    ]);
    expect(unknown).toEqual([]);
    expect(expressions.length).toBeGreaterThan(20);
  });

  test('shows every metric about the state of checks and alerts', async () => {
    const all = expressions.join('\n');
    const documented = [...(await readDocumentedMetrics()).keys()];
    // These explain other metrics. docs/metrics.md describes them.
    const others = [
      'tocsin_region_monitors',
      'tocsin_leader',
      'tocsin_clock_offset_seconds',
      'tocsin_rollup_watermark_seconds',
      'tocsin_rollup_gaps',
      'tocsin_checks_skipped_total',
      'tocsin_results_dropped_total',
      'tocsin_record_batch_results',
      'tocsin_channels_disabled_total',
      'tocsin_maintenance_late_seconds',
    ];
    expect(documented.filter((name) => !all.includes(name)).toSorted()).toEqual(others.toSorted());
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
      .filter((name) => name !== '$__rate_interval');
    const known = dashboard.templating.list.map(({ name }) => `$${name}`);
    expect(known).toEqual(expect.arrayContaining(used));
  });

  testWithPromtool('has expressions that Prometheus accepts', () =>
    checkExpressions(
      expressions.map((expr) => expr.replaceAll('$__rate_interval', '5m').replaceAll(/\$\w+/g, '.*')),
    ),
  );

  test('is part of the chart, unchanged', async () => {
    const chart = await renderChart({ ...MINIMAL, grafanaDashboard: { enabled: true } });
    const found = findManifest(readManifests(chart), 'ConfigMap', 'up-tocsin-grafana');
    expect(found.metadata.labels).toMatchObject({ grafana_dashboard: '1' });
    expect(JSON.parse((found['data'] as Record<string, string>)['tocsin.json'] ?? '')).toEqual(dashboard);
  });
});
