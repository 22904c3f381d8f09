import { afterEach, beforeEach, expect, jest, test } from '@jest/globals';
import { QueryClient, QueryObserver } from '@tanstack/react-query';
import { ApiError } from '../api/request.ts';
import { Reloader } from './reloader.ts';

const KEY = ['incidents'];

let queryClient: QueryClient;
let reloader: Reloader;
/** The server's value, which a request reads at once and returns when the test lets it. */
let value: string;
let responses: Record<'succeed' | 'fail', (error?: Error) => void>[];
let close: () => void;

beforeEach(() => {
  jest.useFakeTimers();
  value = 'old';
  responses = [];
  queryClient = new QueryClient({ defaultOptions: { queries: { retry: false } } });
  reloader = new Reloader(queryClient);
  const queryFn = (): Promise<string> => {
    const read = value;
    return new Promise((resolve, reject) =>
      responses.push({ succeed: () => resolve(read), fail: (error) => reject(error ?? new Error('failed')) }),
    );
  };
  const observer = new QueryObserver(queryClient, { queryKey: KEY, queryFn });
  close = observer.subscribe(() => {});
});
afterEach(() => {
  close();
  reloader.stop();
  queryClient.clear();
  jest.useRealTimers();
});

async function respond(how: 'succeed' | 'fail' = 'succeed', error?: Error): Promise<void> {
  responses.shift()?.[how](error);
  for (let tick = 0; tick < 10; tick += 1) await Promise.resolve();
}

const shown = (): unknown => queryClient.getQueryData(KEY);

test.each(['succeed', 'fail'] as const)(
  'a first fetch that began earlier is repeated after it %ss',
  async (how) => {
    value = 'new';
    reloader.reload({ queryKey: KEY });
    expect(responses).toHaveLength(1);
    await respond(how);
    expect(shown()).toBe(how === 'succeed' ? 'old' : undefined);
    await respond();
    expect([shown(), responses.length]).toEqual(['new', 0]);
  },
);

test('many changes during a fetch neither cancel it nor repeat it more than once', async () => {
  for (let change = 0; change < 5; change += 1) reloader.reload();
  await respond();
  expect([shown(), responses.length]).toEqual(['old', 1]);
});

test('repeat ignores queries that are not being fetched', async () => {
  reloader.repeat({ queryKey: KEY });
  await respond();
  expect(responses).toHaveLength(1);
  await respond();
  reloader.repeat({ queryKey: KEY });
  expect(responses).toHaveLength(0);
});

test('reloadAfter collects calls, and stop cancels them', async () => {
  await respond();
  let reloads = 0;
  for (let passed = 0; passed < 4_000; passed += 250) {
    reloader.reloadAfter(1_000, KEY);
    jest.advanceTimersByTime(250);
    reloads += responses.length;
    if (responses.length > 0) await respond();
  }
  expect(reloads).toBe(4);
  reloader.reloadAfter(1_000, KEY);
  reloader.stop();
  jest.advanceTimersByTime(10_000);
  expect(responses).toHaveLength(0);
});

test('a missing resource is not reloaded, because its page would show a placeholder', async () => {
  await respond('fail', new ApiError({ status: 404, title: 'Not found', detail: 'There is none.' }));
  reloader.reload();
  expect([responses.length, queryClient.getQueryState(KEY)?.status]).toEqual([0, 'error']);
});
