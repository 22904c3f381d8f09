import { afterEach, beforeEach, describe, expect, jest, test } from '@jest/globals';
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
function neverRespond(): void {
  fetched.mockImplementation(
    (_path, init) =>
      new Promise((_resolve, reject) => {
        const { signal } = init ?? {};
        signal?.addEventListener('abort', () => reject(signal.reason as Error));
      }),
  );
}

const timeOut = (): void => timer.abort(new DOMException('', 'TimeoutError'));

describe('a request without a response', () => {
  test('fails like one without a connection when its time is over', async () => {
    neverRespond();
    const request = api('GET /api/dashboard/overview', { signal: new AbortController().signal });
    queueMicrotask(timeOut);
    await expect(request).rejects.toMatchObject({ status: 0, title: 'No connection' });
  });

  test('fails in the same way if only the body is missing', async () => {
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

  test('can be canceled', async () => {
    neverRespond();
    const canceled = new AbortController();
    const request = api('GET /api/dashboard/overview', { signal: canceled.signal });
    queueMicrotask(() => canceled.abort());
    const error: unknown = await request.catch((reason: unknown) => reason);
    expect(error).not.toBeInstanceOf(ApiError);
    expect(error).toMatchObject({ name: 'AbortError' });
  });

  test('has more time if the server may need it', async () => {
    fetched.mockImplementation(() => Promise.resolve(Response.json({})));
    const id = '0d7d9a5e-3b0a-4f0e-9d55-6f1d0f5b8a11';
    await api('GET /api/dashboard/monitors/:id', { id });
    await api('GET /api/dashboard/overview');
    await api('POST /api/dashboard/monitors/:id/trigger', { id });
    await api('POST /api/dashboard/channels/:id/test', { id });
    await api('POST /api/dashboard/monitors/test', {
      query: { region: 'default' },
      body: { name: 'a', url: 'https://a.example' },
    });
    expect(timeouts.mock.calls.map(([ms]) => ms / 1_000)).toEqual([30, 30, 300, 300, 300]);
  });
});

describe('the user of the page', () => {
  const usersSent = (): unknown[] =>
    fetched.mock.calls.map(([, init]) => new Headers(init?.headers).get('X-Tocsin-User'));

  test('is named in requests while the page is open, except to sign in', async () => {
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
    expect(usersSent()).toEqual(['ada', 'ada', null, 'ada', null]);
  });
});
