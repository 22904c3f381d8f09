import { expect, test } from '@jest/globals';
import { createSilentLogger } from '@tocsin/runtime/logger';
import type { DesiredItem } from '../desired/desired-set.ts';
import { Problem } from '../desired/problem.ts';
import { KubernetesError } from '../kubernetes/client.ts';
import { clusterOf, objectOf } from '../testing/fake-cluster.ts';
import { Reporter } from './reporter.ts';

const { signal } = new AbortController();
const PROBLEM = new Problem('Invalid', 'interval: must be …');
const rest = { field: 'monitors', url: null, isRetained: false } as const;

/** Reports to a cluster whose next writes have these results. Returns what was written. */
function start(results: readonly (Error | null)[] = [], refusedMs = 0) {
  const [written, next]: [string[], (Error | null)[]] = [[], [...results]];
  const resource = objectOf('Monitor', 'front');
  const write = async (text: string): Promise<void> => {
    const error = next.shift() ?? null;
    if (error !== null) throw error;
    written.push(text);
  };
  const cluster = {
    ...clusterOf(resource),
    patchStatus: async (_: unknown, status: { readonly status?: unknown; readonly conditions?: unknown }) =>
      write(
        `status ${String(status.status)} ${status.conditions === undefined ? '' : 'conditions'}`.trimEnd(),
      ),
    warn: async (_: unknown, reason: string) => write(`event ${reason}`),
  };
  const reporter = new Reporter(cluster, createSilentLogger(), refusedMs);
  const item: DesiredItem = { ...rest, owner: resource, externalId: 'prod/shop/front', entry: {} };
  const ids = new Map([['monitors prod/shop/front', 'id']]);
  return { reporter, written, item, ids };
}

test('a status of a monitor is merged with its conditions, and written again after a temporary error', async () => {
  const { reporter, written, item, ids } = start([new KubernetesError(503, 'busy')]);
  reporter.report('shop', [item], { problems: new Map(), ids, failure: null }, () => undefined);
  reporter.setStatus('id', { status: 'UP', statusSince: '2026-01-01T00:00:00Z' });
  await reporter.flush(signal);
  expect(written).toEqual([]);
  reporter.setStatus('id', { status: 'DOWN', statusSince: '2026-01-01T00:01:00Z' });
  await reporter.flush(signal);
  await reporter.flush(signal);
  expect(written).toEqual(['status DOWN conditions']);
});

test.each([403, 404, 409, 422])(
  'a write that the API server refuses with %d waits for some seconds',
  async (code) => {
    const { reporter, written, item, ids } = start([new KubernetesError(code, 'no')], 60_000);
    reporter.report('shop', [item], { problems: new Map(), ids, failure: null }, () => undefined);
    await reporter.flush(signal);
    reporter.setStatus('id', { status: 'UP', statusSince: '2026-01-01T00:00:00Z' });
    await reporter.flush(signal);
    expect(written).toEqual([]);
  },
);

test('an object has one Event for a problem of all its hosts, and another one after the problem was gone', async () => {
  const { reporter, written } = start();
  const owner = objectOf('Ingress', 'web');
  const items = ['a', 'b'].map((externalId): DesiredItem => ({ ...rest, owner, externalId, entry: PROBLEM }));
  const report = (problems: ReadonlyMap<DesiredItem, Problem>): void =>
    reporter.report('shop', items, { problems, ids: new Map(), failure: null }, () => undefined);
  const all = new Map(items.map((item) => [item, PROBLEM]));
  report(all);
  report(all);
  await reporter.flush(signal);
  expect(written).toEqual(['event Invalid']);
  report(new Map());
  report(all);
  await reporter.flush(signal);
  expect(written).toEqual(['event Invalid', 'event Invalid']);
});
