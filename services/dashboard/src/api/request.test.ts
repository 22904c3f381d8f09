import { afterEach, beforeEach, describe, expect, jest, test } from '@jest/globals';
import { api } from './request.ts';
import { sessionGate } from './session-gate.ts';

const fetched = jest.spyOn(globalThis, 'fetch');

beforeEach(() => {
  fetched.mockReset();
});
afterEach(() => sessionGate.open(false));

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
