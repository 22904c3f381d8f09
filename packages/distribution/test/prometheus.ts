import { readRepositoryFile } from '@tocsin/distribution/repository';
import { parse } from 'yaml';

export const SERVICE_RULES = 'infra/helm/tocsin/files/tocsin.rules.yaml';
/** The files of rules, each with its tests. */
export const RULES = {
  [SERVICE_RULES]: 'packages/distribution/test/tocsin.rules.test.yaml',
  'infra/prometheus/monitors.rules.yaml': 'packages/distribution/test/monitors.rules.test.yaml',
};
export const DASHBOARDS = [
  'infra/helm/tocsin/files/tocsin-dashboard.json',
  'infra/prometheus/monitor-dashboard.json',
];
export const CONFIGURATIONS = [
  'infra/prometheus/prometheus.yml',
  'infra/prometheus/alertmanager.yml',
] as const;

/** An alerting or a recording rule. */
export interface Rule {
  readonly alert?: string;
  readonly record?: string;
  readonly expr: string;
  readonly annotations?: { readonly runbook_url?: string };
}

export async function readRules(path: string): Promise<Rule[]> {
  const { groups } = parse(await readRepositoryFile(path)) as { groups: { rules: Rule[] }[] };
  return groups.flatMap(({ rules }) => rules);
}

interface Dashboard {
  readonly panels: readonly {
    readonly targets?: readonly { readonly expr: string }[];
  }[];
}

export async function readDashboard(path: string): Promise<Dashboard> {
  return JSON.parse(await readRepositoryFile(path)) as Dashboard;
}

export function expressionsOf({ panels }: Dashboard): string[] {
  return panels.flatMap(({ targets = [] }) => targets.map(({ expr }) => expr));
}

interface DocumentedMetric {
  readonly type: string;
  readonly labels: readonly string[];
}

/** Metrics in docs/metrics.md, by name. Another test compares that page with the metrics of the services. */
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

/** Returns the recorded series that an expression uses. */
export function findRecorded(expr: string): string[] {
  return expr.match(RECORDED) ?? [];
}

const RECORDED = /\b\w+:[\w:]+/g;

/** The undocumented metrics, series and labels in a Prometheus expression. */
export function findUnknown(expression: string, documented: ReadonlyMap<string, DocumentedMetric>): string[] {
  const expr = expression.replaceAll(RECORDED, 'recorded');
  return [...expr.matchAll(/\b(tocsin_\w+)(?:\{([^}]*)\})?/g)].flatMap(([, series = '', matchers = '']) => {
    const name = documented.has(series) ? series : series.replace(/_(?:bucket|count|sum)$/, '');
    const metric = documented.get(name);
    if (metric === undefined || (metric.type === 'histogram') !== (series !== name)) return [series];
    const used = [
      ...[...matchers.matchAll(/(\w+)(?:=|!=|=~|!~)"/g)].map(([, label = '']) => label),
      ...[...expr.matchAll(/by \(([^)]*)\)/g)].flatMap(([, list = '']) => list.split(/, */)),
    ];
    const known = new Set([...metric.labels, ...(series.endsWith('_bucket') ? ['le'] : [])]);
    return used.filter((label) => !known.has(label)).map((label) => `${series} by ${label}`);
  });
}
