import { expect, test } from '@jest/globals';
import { refreshEvery } from './query-client.ts';
import { ApiError } from './request.ts';

const failed = (status: number): { state: { error: unknown } } => ({
  state: { error: new ApiError({ status, title: '', detail: '' }) },
});

test.each([0, 500, 503])('a query that failed with %i is refetched within 15 s', (status) => {
  expect(
    [false, 5_000, 300_000].map((every) => refreshEvery(every as number | false)(failed(status))),
  ).toEqual([15_000, 5_000, 15_000]);
});

test('a query that succeeded or failed permanently keeps its interval', () => {
  for (const query of [failed(403), { state: { error: null } }])
    expect([refreshEvery(false)(query), refreshEvery(60_000)(query)]).toEqual([false, 60_000]);
});
