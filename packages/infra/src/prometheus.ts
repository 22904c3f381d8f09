import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { readRepositoryFile, ROOT } from './repository.ts';
import { findProgram } from './run-tool.ts';

/** Whether promtool is here; in CI it has to be (`.ci/run` installs it). */
export function hasPromtool(): boolean {
  if (findProgram('promtool') !== null) return true;
  if (process.env['CI'] === undefined) return false;
  throw new Error('promtool is not on the PATH: install prometheus (apt-get install prometheus)');
}

/** Runs promtool in the root of the repository. @returns all that it said, and whether it was content */
export async function runPromtool(
  ...args: string[]
): Promise<{ readonly content: boolean; readonly said: string }> {
  try {
    const { stdout, stderr } = await promisify(execFile)('promtool', args, { cwd: ROOT });
    return { content: true, said: stdout + stderr };
  } catch (error) {
    const { stdout = '', stderr = '' } = error as { stdout?: string; stderr?: string };
    return { content: false, said: `${stdout}${stderr}` || String(error) };
  }
}

export interface DocumentedMetric {
  readonly type: string;
  readonly labels: readonly string[];
}

/** Every metric that docs/metrics.md tells of, by name: packages/lab/test/metrics.ts tests that page against what services show. */
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
