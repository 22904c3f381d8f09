import { afterEach, beforeEach, expect, jest, test } from '@jest/globals';
import { refreshEvery } from './query-client.ts';
import { api, ApiError } from './request.ts';
import { sessionGate } from './session-gate.ts';

const fetched = jest.spyOn(globalThis, 'fetch');
const timeouts = jest.spyOn(AbortSignal, 'timeout');
let timer: AbortController;

beforeEach(() => {
  timer = new AbortController();
  timeouts.mockReset().mockImplementation(() => timer.signal);
  fetched.mockReset();
});
afterEach(() => sessionGate.open(false));

/** A server that never responds. */
const neverRespond: typeof fetch = (_path, init) =>
  new Promise((_resolve, reject) => {
    init?.signal?.addEventListener('abort', () => reject(init.signal?.reason as Error));
  });

const timeOut = (): void => timer.abort(new DOMException('', 'TimeoutError'));

test('a request that times out fails like one without a connection', async () => {
  fetched.mockImplementation(neverRespond);
  const request = api('GET /api/dashboard/overview', { signal: new AbortController().signal });
  queueMicrotask(timeOut);
  await expect(request).rejects.toMatchObject({ status: 0, title: 'No connection' });
});

test('a request fails in the same way if only the body is missing', async () => {
  fetched.mockImplementation((_path, init) => {
    const body = new ReadableStream({
      start: (controller) =>
        init?.signal?.addEventListener('abort', () => controller.error(init.signal?.reason)),
    });
    return Promise.resolve(new Response(body));
  });
  const request = api('GET /api/dashboard/overview');
  setImmediate(timeOut);
  await expect(request).rejects.toMatchObject({ status: 0 });
});

test('a request can be canceled', async () => {
  fetched.mockImplementation(neverRespond);
  const canceled = new AbortController();
  const request = api('GET /api/dashboard/overview', { signal: canceled.signal });
  queueMicrotask(() => canceled.abort());
  const error: unknown = await request.catch((reason: unknown) => reason);
  expect(error).not.toBeInstanceOf(ApiError);
  expect(error).toMatchObject({ name: 'AbortError' });
});

test('slow routes have a longer timeout', async () => {
  fetched.mockImplementation(() => Promise.resolve(Response.json({})));
  const id = '0d7d9a5e-3b0a-4f0e-9d55-6f1d0f5b8a11';
  await api('GET /api/dashboard/monitors/:id', { id });
  await api('POST /api/dashboard/monitors/:id/trigger', { id });
  await api('POST /api/dashboard/channels/:id/test', { id });
  const body = { name: 'a', url: 'https://a.example' };
  await api('POST /api/dashboard/monitors/test', { query: { region: 'default' }, body });
  expect(timeouts.mock.calls.map(([ms]) => ms / 1_000)).toEqual([30, 300, 300, 300]);
});

test('requests name the user of the open page, except for sign-in', async () => {
  fetched.mockImplementation(() => Promise.resolve(Response.json({})));
  const stop = sessionGate.guard('ada');
  await api('GET /api/dashboard/overview');
  await api('POST /api/auth/sign-out');
  await api('GET /api/auth/get-session');
  // The user leaves, and the page is still there for a moment.
  sessionGate.open(false);
  await api('GET /api/dashboard/overview');
  stop();
  await api('GET /api/dashboard/overview');
  const users = fetched.mock.calls.map(([, init]) => new Headers(init?.headers).get('X-Tocsin-User'));
  expect(users).toEqual(['ada', 'ada', null, 'ada', null]);
});

test('a wrong password is explained in plain words', async () => {
  const body = { code: 'INVALID_EMAIL_OR_PASSWORD', message: 'Invalid email or password' };
  fetched.mockImplementation(() => Promise.resolve(Response.json(body, { status: 401 })));
  await expect(
    api('POST /api/auth/sign-in/email', { body: { email: 'ada@example.com', password: 'wrong' } }),
  ).rejects.toMatchObject({
    title: 'Sign-in failed',
    message: 'The email address or the password is wrong.',
  });
});

test.each([
  [503, [15_000, 5_000, 15_000]],
  [403, [false, 5_000, 300_000]],
])('a query that failed with %i is refetched: soon if the error is temporary', (status, intervals) => {
  const query = { state: { error: new ApiError({ status, title: '', detail: '' }) } };
  expect([false, 5_000, 300_000].map((every) => refreshEvery(every as number | false)(query))).toEqual(
    intervals,
  );
});
