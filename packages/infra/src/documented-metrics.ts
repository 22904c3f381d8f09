import { readRepositoryFile } from './repository.ts';

export interface DocumentedMetric {
  readonly type: string;
  readonly labels: readonly string[];
}

/** Every metric that docs/metrics.md tells of, by name: packages/e2e/test/metrics.ts tests that page against what services show. */
export async function readDocumentedMetrics(): Promise<ReadonlyMap<string, DocumentedMetric>> {
  const page = await readRepositoryFile('docs/metrics.md');
  const rows = page.matchAll(/^\| `(tocsin_\w+)` +\| (\w+) +\| ([^|]*?) *\|/gm);
  return new Map(
    [...rows].map(([, name = '', type = '', labels = '']) => [
      name,
      { type, labels: [...labels.matchAll(/`(\w+)`/g)].map(([, label = '']) => label) },
    ]),
  );
}

/** What an expression of Prometheus asks for that there is not: metrics of ours, their series, and labels. */
export function findUnknown(expr: string, documented: ReadonlyMap<string, DocumentedMetric>): string[] {
  return [...expr.matchAll(/\b(tocsin_\w+)(?:\{([^}]*)\})?/g)].flatMap(([, series = '', matchers = '']) => {
    const name = documented.has(series) ? series : series.replace(/_(?:bucket|count|sum)$/, '');
    const metric = documented.get(name);
    if (metric === undefined || (metric.type === 'histogram') !== (series !== name)) return [series];
    const asked = [
      ...[...matchers.matchAll(/(\w+)(?:=|!=|=~|!~)"/g)].map(([, label = '']) => label),
      ...[...expr.matchAll(/by \(([^)]*)\)/g)].flatMap(([, list = '']) => list.split(/, */)),
    ];
    const known = new Set([...metric.labels, ...(series.endsWith('_bucket') ? ['le'] : [])]);
    return asked.filter((label) => !known.has(label)).map((label) => `${series} by ${label}`);
  });
}
