import { describe, expect, test } from '@jest/globals';
import type { DesiredItem } from '../desired/desired-set.ts';
import { objectOf } from '../testing/fake-cluster.ts';
import { SetWriter, type SetWrite } from './set-writer.ts';
import { type TocsinClient, TocsinError } from './tocsin-client.ts';

const member = (externalId: string) => ({ id: `id-of-${externalId}`, externalId });
const RESULT = { changed: true, created: [], updated: [], deleted: [], unchanged: [], unlisted: [] };

function itemOf(name: string): DesiredItem {
  const externalId = `prod/shop/${name}`;
  const owner = objectOf('Monitor', name);
  return { field: 'monitors', owner, externalId, url: null, isRetained: false, entry: { externalId } };
}

/** Writes a set to a server with these responses. Returns the outcome, and the requests in short. */
async function write(responses: readonly unknown[], options: Partial<SetWrite> = {}) {
  const requests: string[] = [];
  const rest = [...responses];
  const tocsin = async (
    endpoint: string,
    { id = '', body = {} }: { id?: string; body?: { dryRun?: boolean; prune?: boolean; source?: string } },
  ) => {
    const flags = [body.dryRun === true ? 'plan' : '', body.prune === true ? 'prune' : '', id];
    requests.push(
      [endpoint.split('/api/cli')[0] + endpoint.split('/').slice(3).join('/'), ...flags]
        .filter(Boolean)
        .join(' '),
    );
    const response = rest.shift();
    if (response instanceof Error) throw response;
    return response;
  };
  const writer = new SetWriter(tocsin as unknown as TocsinClient, () => undefined);
  const outcome = await writer.write({
    source: 'k8s/prod/shop',
    otherSource: 'k8s/prod/shop/retained',
    items: ['a', 'b'].map(itemOf),
    kept: new Set(),
    planFirst: false,
    signal: new AbortController().signal,
    ...options,
  });
  return { outcome, requests };
}

function problemOf(status: number, code: string, errors: readonly object[]): TocsinError {
  const problem = { type: `urn:tocsin:problem:${code}`, errors };
  return new TocsinError('refused', status, problem as never);
}

describe('a set', () => {
  test('is only planned if nothing differs', async () => {
    const unchanged = { ...RESULT, changed: false, unchanged: [member('prod/shop/a')] };
    const { outcome, requests } = await write([unchanged], { planFirst: true });
    expect(requests).toEqual(['PUT monitors plan prune']);
    expect(outcome).toEqual({ ids: new Map([['monitors prod/shop/a', 'id-of-prod/shop/a']]) });
  });

  test('deletes with the same request what no resource declares', async () => {
    const { requests } = await write([RESULT, RESULT], { planFirst: true });
    expect(requests).toEqual(['PUT monitors plan prune', 'PUT monitors prune']);
  });

  test('deletes nothing that is kept', async () => {
    const unlisted = [member('old'), member('invalid')];
    const channels = { ...RESULT, unlisted: [{ id: 'id-of-channel', externalId: 'invalid' }] };
    const result = { ...RESULT, unlisted, channels };
    const { requests } = await write([result, undefined], { kept: new Set(['monitors invalid']) });
    expect(requests).toEqual([
      'PUT monitors',
      'DELETE channels/:id id-of-channel',
      'DELETE monitors/:id id-of-old',
    ]);
    expect((await write([{ ...RESULT, unlisted }], { kept: null })).requests).toEqual(['PUT monitors']);
  });

  test('reports the items that Tocsin refuses, in its own words', async () => {
    const errors = [
      {
        path: 'monitors.1.regions.0',
        code: 'invalid',
        message: 'is not a region (externalId "prod/shop/b")',
      },
    ];
    const items = ['a', 'b'].map(itemOf);
    const { outcome } = await write([problemOf(400, 'validation-failed', errors)], { items });
    const refusals = 'refusals' in outcome ? [...outcome.refusals] : [];
    expect(refusals.map(([item, { message }]) => [item, message])).toEqual([
      [items[1], 'regions.0: is not a region'],
    ]);
  });

  test('takes over an item from its other source, but from no one else', async () => {
    const taken = problemOf(409, 'conflict', [
      { path: 'monitors.0.externalId', code: 'conflict', message: 'taken' },
    ]);
    const of = (source: string) => ({ monitor: { id: 'x', source } });
    const own = await write([taken, of('k8s/prod/shop/retained'), {}]);
    expect(own.requests.at(-1)).toBe('PUT monitors/:id x');
    expect(own.outcome).toEqual({ refusals: new Map() });
    const foreign = await write([taken, of('terraform')]);
    expect('refusals' in foreign.outcome && [...foreign.outcome.refusals.values()]).toMatchObject([
      { reason: 'Conflict', message: 'externalId: taken' },
    ]);
  });

  test('leaves out only the new items that exceed a quota', async () => {
    const items = ['a', 'b', 'c'].map(itemOf);
    const exceeded = (quota: string, used: number) =>
      new TocsinError('quota', 403, { type: 'x:quota-exceeded', quota, limit: 10, used } as never);
    const refusedOf = async (error: TocsinError, existing: readonly string[]) => {
      const monitors = existing.map((name) => ({ externalId: `prod/shop/${name}`, source: 'k8s/prod/shop' }));
      const { outcome } = await write([error, { monitors }], { items });
      return 'refusals' in outcome ? [...outcome.refusals.keys()].map(({ externalId }) => externalId) : [];
    };
    expect(await refusedOf(exceeded('monitors', 11), ['a'])).toEqual(['prod/shop/c']);
    expect(await refusedOf(exceeded('checksPerMinute', 10.5), ['a'])).toEqual(['prod/shop/b', 'prod/shop/c']);
    const edit = exceeded('checksPerMinute', 11);
    await expect(refusedOf(edit, ['a', 'b', 'c'])).rejects.toBe(edit);
  });

  test('fails as a whole with an error that names no item', async () => {
    const error = problemOf(403, 'source-not-allowed', []);
    await expect(write([error])).rejects.toBe(error);
  });
});
