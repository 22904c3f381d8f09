import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from '@jest/globals';
import { readRepositoryFile, ROOT } from '@tocsin/infra/repository';
import { isOnPath, runTool } from '@tocsin/infra/run-tool';
import { stringify } from 'yaml';

/** Runs a test only if promtool is installed. In CI it has to be. */
export function testWithPromtool(name: string, run: () => Promise<void>): void {
  testWith('promtool', 'prometheus', name, run);
}

/** The same for amtool. */
export function testWithAmtool(name: string, run: () => Promise<void>): void {
  testWith('amtool', 'prometheus-alertmanager', name, run);
}

function testWith(program: string, debianPackage: string, name: string, run: () => Promise<void>): void {
  if (isOnPath(program)) test(name, run);
  else if (process.env['CI'] === undefined) test.skip(`${name} (${program} is not installed)`, run);
  else throw new Error(`${program} is not on the PATH: install it (apt-get install ${debianPackage})`);
}

/** Runs promtool in the root of the repository. @throws Error with its output if it finds a mistake */
export async function runPromtool(...args: string[]): Promise<void> {
  await runTool('promtool', args, { cwd: ROOT });
}

/** Checks expressions with promtool. @throws Error if one is invalid */
export async function checkExpressions(expressions: readonly string[]): Promise<void> {
  const rules = expressions.map((expr, index) => ({ record: `expression:${index}`, expr }));
  await runOnRules('check', { groups: [{ name: 'expressions', rules }] });
}

/**
 * Evaluates an expression with promtool.
 * @param values of each series, a sample every 30 s, in the notation of its tests
 * @param expected the value at a time such as `10m`; null for no result
 * @throws Error if a value differs
 */
export async function testExpression(
  expr: string,
  values: Readonly<Record<string, string>>,
  expected: Readonly<Record<string, number | null>>,
): Promise<void> {
  const test = {
    interval: '30s',
    input_series: Object.entries(values).map(([series, text]) => ({ series, values: text })),
    promql_expr_test: Object.entries(expected).map(([time, value]) => ({
      expr,
      eval_time: time,
      exp_samples: value === null ? [] : [{ labels: '{}', value }],
    })),
  };
  await runOnRules('test', { rule_files: [], tests: [test] });
}

async function runOnRules(command: 'check' | 'test', content: object): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'tocsin-promtool-'));
  try {
    const file = join(folder, 'rules.yaml');
    await writeFile(file, stringify(content));
    await runPromtool(command, 'rules', file);
  } finally {
    await rm(folder, { recursive: true });
  }
}

export interface DocumentedMetric {
  readonly type: string;
  readonly labels: readonly string[];
}

/** The metrics of docs/metrics.md, by name. Another test compares that page with the metrics of the services. */
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

/** The series of the recording rules that an expression uses. */
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
