import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { systemActor } from '@tocsin/db/audit-log/actor';
import { AppError } from '@tocsin/contracts/errors';
import type { Caller } from '../http/request-state.ts';
import { stopClock, type StoppedClock } from '../testing/stopped-clock.ts';
import { TriggerLimits } from './trigger-limits.ts';

let clock: StoppedClock;
let limits: TriggerLimits;
beforeEach(() => {
  clock = stopClock();
  limits = new TriggerLimits({ caller: 2, account: 3, process: 4 });
});
afterEach(() => clock.restore());

function caller(apiKeyId: string | null, sessionId: string | null, accountId = 'acme'): Caller {
  const userId = sessionId === null ? null : 'u';
  const common = { ...systemActor(accountId), id: apiKeyId ?? 'u', canWrite: true };
  return { ...common, apiKeyId, sessionId, userId, role: userId && 'member' } as Caller;
}
const program = (apiKeyId: string, accountId?: string): Caller => caller(apiKeyId, null, accountId);
const person = (sessionId: string): Caller => caller(null, sessionId);

function refusalOf(caller: Caller): unknown {
  try {
    limits.acquire(caller, 1_000);
  } catch (error) {
    return error instanceof AppError ? `${error.code}: ${error.message}` : error;
  }
  return null;
}

describe('TriggerLimits', () => {
  test('an API key, a session, an account and the server each have a limit and a message', () => {
    for (let count = 0; count < 2; count += 1) limits.acquire(program('a'), 1_000);
    expect(refusalOf(program('a'))).toMatch(/^rate_limited: This API key runs 2 triggered checks already/);
    expect(refusalOf(program('b'))).toBeNull();
    expect(refusalOf(program('c'))).toMatch(/^rate_limited: This account runs 3/);
    expect(refusalOf(program('d', 'other'))).toBeNull();
    expect(refusalOf(program('e', 'third'))).toMatch(/^unavailable: This server runs 4/);
  });

  test('a session has the limit of an API key', () => {
    for (let count = 0; count < 2; count += 1) limits.acquire(person('s'), 1_000);
    expect(refusalOf(person('s'))).toMatch(/^rate_limited: This session runs 2/);
  });

  test('a released check no longer counts, and releasing it again has no effect', () => {
    const end = limits.acquire(program('a'), 1_000);
    limits.acquire(program('a'), 1_000);
    end();
    end();
    expect(refusalOf(program('a'))).toBeNull();
    expect(refusalOf(program('a'))).not.toBeNull();
  });

  test('a check without a waiting client counts for its maximum duration', () => {
    limits.acquire(program('a'), 1_000);
    clock.advance(600);
    limits.acquire(program('a'), 1_000);
    clock.advance(399);
    expect(refusalOf(program('a'))).not.toBeNull();
    clock.advance(1);
    expect(refusalOf(program('a'))).toBeNull();
    expect(refusalOf(program('a'))).not.toBeNull();
  });
});
