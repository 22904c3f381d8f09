import { readFile } from 'node:fs/promises';
import { expect } from '@jest/globals';
import { until } from '@tocsin/embedded/testing/until';
import type { ServiceName, ServiceProcess } from '@tocsin/lab/service-process';

type Services = Readonly<Record<ServiceName, ServiceProcess>>;

const PAGE = new URL('../../../docs/metrics.md', import.meta.url);
/** Values on which the alerting rules depend, in a healthy system. */
const QUIET: readonly [ServiceName, string][] = [
  ['api', 'tocsin_checks_overdue{region="default"} 0'],
  ['api', 'tocsin_region_workers{region="default"} 1'],
  ['notifier', 'tocsin_channels{state="disabled_by_service"} 0'],
  ['checker', 'tocsin_checks_missed_total{region="default",reason="crashed"} 0'],
];

/** Expects that running services have the metrics of the reference page, with its types and labels. */
export async function expectDocumentedMetrics(services: Services): Promise<void> {
  const page = await readFile(PAGE, 'utf8');
  for (const [name, service] of Object.entries(services)) {
    const text = await service.metrics();
    const documented = readTable(page, name);
    const shown = [...text.matchAll(/^# TYPE (tocsin_\w+) (\w+)$/gm)];
    expect(documented.size).toBeGreaterThan(5);
    expect([...documented].map(([metric, { type }]) => `${metric} ${type}`).toSorted()).toEqual(
      shown.map(([, metric, type]) => `${metric} ${type}`).toSorted(),
    );
    const samples = [...text.matchAll(/^(tocsin_\w+?)(?:_bucket|_sum|_count)?\{(.+)\} /gm)];
    expect(samples.length).toBeGreaterThan(0);
    for (const [, metric = '', pairs = ''] of samples) {
      const labels = [...pairs.matchAll(/(\w+)="/g)].map(([, label = '']) => label);
      expect([metric, labels.filter((label) => label !== 'le').toSorted()]).toEqual([
        metric,
        documented.get(metric)?.labels.toSorted(),
      ]);
    }
  }
}

/** Metrics of one service on the reference page, by name. */
function readTable(page: string, service: string): Map<string, { type: string; labels: string[] }> {
  const [, section = ''] = new RegExp(`^## ${service}$(.*?)^## `, 'ms').exec(page) ?? [];
  const rows = section.matchAll(/^\| `(\w+)` +\| (\w+) +\| ([^|]*?) *\|/gm);
  return new Map(
    [...rows].map(([, name = '', type = '', labels = '']) => [
      name,
      { type, labels: [...labels.matchAll(/`(\w+)`/g)].map(([, label = '']) => label) },
    ]),
  );
}

/** Waits until no alerting rule would fire. A scrape omits values that could not be read in time. */
export async function untilQuiet(services: Services): Promise<void> {
  for (const [name, series] of QUIET) {
    await until(series, async () => (await services[name].metrics()).includes(series));
  }
}
