import { expect, test } from '@jest/globals';
import { refreshEvery } from './query-client.ts';
import { ApiError } from './request.ts';

const failed = (status: number): { state: { error: unknown } } => ({
  state: { error: new ApiError({ status, title: '', detail: '' }) },
});

test.each([0, 500, 503])(
  'what failed with %i is asked again soon, however seldom it is asked else',
  (status) => {
    expect(
      [false, 5_000, 300_000].map((every) => refreshEvery(every as number | false)(failed(status))),
    ).toEqual([15_000, 5_000, 15_000]);
  },
);

test('what failed for good, or did not fail, is asked as often as ever', () => {
  for (const query of [failed(403), { state: { error: null } }])
    expect([refreshEvery(false)(query), refreshEvery(60_000)(query)]).toEqual([false, 60_000]);
});
