import { describe, expect, test } from '@jest/globals';
import { type AttemptOutcome, SignInLimit } from './sign-in-limit.ts';

const EMAIL = 'ada@example.com';
const TURN_SECONDS = 5;

interface Attempt {
  readonly from: string;
  /** The id of a known device. */
  readonly device?: string;
  readonly email?: string;
  /** Defaults to a wrong password. */
  readonly outcome?: AttemptOutcome;
}

interface Attempts {
  readonly limit: SignInLimit;
  /** @returns the seconds to wait, or 0 if the password was checked */
  readonly attempt: (attempt: Attempt) => number;
  /** Moves the clock. */
  readonly advance: (seconds: number) => void;
}

function attempts(maxCounters?: number): Attempts {
  let now = 0;
  const limit = new SignInLimit({ now: () => now, ...(maxCounters !== undefined && { maxCounters }) });
  return {
    limit,
    attempt: ({ from, device = null, email = EMAIL, outcome = 'failed' }) => {
      const begun = limit.begin({ email, address: from, device });
      if (typeof begun === 'number') return begun;
      begun(outcome);
      return 0;
    },
    advance: (seconds) => void (now += seconds * 1_000),
  };
}

/** Addresses of this many networks. */
const networks = (count: number, prefix = '10.0'): string[] =>
  Array.from({ length: count }, (_, index) => `${prefix}.${index}.1`);

/** Uses up the free failures of new networks. */
function useUpFreeFailures({ attempt }: Attempts, email = EMAIL): void {
  for (const from of networks(10, '172.16')) expect(attempt({ from, email })).toBe(0);
}

const times = <Result>(count: number, run: () => Result): Result[] => Array.from({ length: count }, run);

describe('guesses', () => {
  test('from one network are five seconds apart after 15 failures', () => {
    const { attempt, advance } = attempts();
    const from = '203.0.113.1';
    expect(times(17, () => attempt({ from }))).toEqual([...Array(16).fill(0), 5]);
    advance(4.5);
    expect(attempt({ from })).toBe(1);
    advance(0.5);
    expect(times(2, () => attempt({ from }))).toEqual([0, 5]);
  });

  test('from new networks are five seconds apart after ten failures', () => {
    const all = attempts();
    useUpFreeFailures(all);
    const waits = networks(5).map((from) => all.attempt({ from }));
    expect(waits).toEqual([0, 5, 10, 15, 20]);
  });

  test('are limited to 1,440 an hour, from any number of networks', () => {
    const { attempt, advance } = attempts();
    let checked = 0;
    const guessing = networks(60);
    for (let second = 0; second < 3_600; second += TURN_SECONDS) {
      for (const from of guessing) if (attempt({ from }) === 0) checked += 1;
      advance(TURN_SECONDS);
    }
    expect(checked).toBeLessThanOrEqual((2 * 3_600) / TURN_SECONDS + 2 * 10);
  });

  test('at the same time do not exceed the limit', () => {
    const { limit } = attempts();
    const begun = networks(12).map((address) => limit.begin({ email: EMAIL, address, device: null }));
    expect(begun.filter((attempt) => typeof attempt === 'function')).toHaveLength(11);
  });

  test('are free again after an hour, and do not delay another account', () => {
    const all = attempts();
    useUpFreeFailures(all);
    useUpFreeFailures(all, 'grace@example.com');
    all.advance(3_601);
    useUpFreeFailures(all);
  });
});

describe('a user', () => {
  const succeeding = { from: '203.0.113.1', outcome: 'succeeded' } as const;

  test('signs in after the announced time, whatever others do meanwhile', () => {
    const { attempt, advance } = attempts();
    const guess = (): void => {
      for (const from of networks(50)) attempt({ from });
    };
    guess();
    const wait = attempt(succeeding);
    expect(wait).toBeGreaterThan(0);
    expect(wait).toBeLessThanOrEqual(50 * TURN_SECONDS);
    for (let second = 0; second < wait; second += 1) {
      guess();
      advance(1);
    }
    guess();
    expect(attempt(succeeding)).toBe(0);
  });

  test('who mistyped often signs in after the announced time, despite bots that never stop', () => {
    const all = attempts();
    const { attempt, advance } = all;
    const guess = (): void => {
      for (const from of networks(8)) attempt({ from });
    };
    for (let second = 0; second < 600; second += 1) {
      guess();
      advance(1);
    }
    const user = { from: '203.0.113.1' };
    let wait = 0;
    for (let failures = 0; failures < 8; failures += 1) {
      while ((wait = attempt(user)) > 0) {
        expect(wait).toBeLessThanOrEqual(9 * TURN_SECONDS);
        advance(wait);
        guess();
        expect(attempt({ ...user, outcome: 'undecided' })).toBe(0);
      }
    }
  });

  test('with a known device is not delayed by an unknown device', () => {
    const all = attempts();
    useUpFreeFailures(all);
    for (let round = 0; round < 20; round += 1) for (const from of networks(100)) all.attempt({ from });
    expect(all.attempt(succeeding)).toBeGreaterThan(0);
    expect(all.attempt({ ...succeeding, device: 'laptop' })).toBe(0);
    const failing = times(12, () => all.attempt({ from: '203.0.113.1', device: 'laptop' }));
    expect(failing).toEqual([...Array(11).fill(0), 5]);
    expect(all.attempt({ from: '203.0.113.1', device: 'phone' })).toBe(0);
  });
});

describe.each(['undecided', 'succeeded'] as const)('an attempt that is %s', (outcome) => {
  test('uses up no free failure', () => {
    const { attempt } = attempts();
    expect(times(40, () => attempt({ from: '203.0.113.1', outcome }))).toEqual(Array(40).fill(0));
    expect(times(17, () => attempt({ from: '203.0.113.1' }))).toEqual([...Array(16).fill(0), 5]);
  });

  test('delays no other attempt', () => {
    const { attempt, advance } = attempts();
    expect(networks(50, '172.16').map((from) => attempt({ from }))).toContain(TURN_SECONDS);
    advance(600);
    for (const from of networks(50)) expect(attempt({ from, outcome })).toBe(0);
    expect(attempt({ from: '203.0.113.1', outcome: 'succeeded' })).toBe(0);
  });
});

describe('a turn', () => {
  /** Three networks that got the first turns. */
  function takeTurns(all: Attempts): [string, string, string] {
    useUpFreeFailures(all);
    const turns = networks(3) as [string, string, string];
    expect(turns.map((from) => all.attempt({ from }))).toEqual([0, 5, 10]);
    return turns;
  }

  test('is reserved for a minute, for one attempt', () => {
    const all = attempts();
    const [, second, third] = takeTurns(all);
    all.advance(60);
    expect(all.attempt({ from: second })).toBe(0);
    all.advance(11);
    // The attempt's turn has expired, so it gets another one, which is due at once.
    expect([all.attempt({ from: third }), all.attempt({ from: third })]).toEqual([0, 5]);
  });

  test('stays reserved if the password was not checked while others wait behind', () => {
    const all = attempts();
    const [, second] = takeTurns(all);
    all.advance(5);
    expect(all.attempt({ from: second, outcome: 'undecided' })).toBe(0);
    expect(all.attempt({ from: second, outcome: 'succeeded' })).toBe(0);
  });

  test('is at most ten minutes ahead, so further attempts must retry', () => {
    const all = attempts();
    useUpFreeFailures(all);
    const waits = networks(200).map((from) => all.attempt({ from }));
    expect(Math.max(...waits)).toBe(600);
    expect(waits.slice(-3)).toEqual([5, 5, 5]);
  });
});

test.each([
  ['203.0.113.1', '::ffff:203.0.113.200', '203.0.114.1'],
  ['2001:db8:7::1', '2001:0db8:0007:ffff::2', '2001:db8:8::1'],
  ['fe80::1', 'fe80::2%eth0', 'fe81::1'],
])('a network is 24 bits of IPv4 or 48 of IPv6: %s and %s, not %s', (one, other, another) => {
  const { attempt } = attempts();
  for (let failure = 0; failure < 16; failure += 1) attempt({ from: one });
  expect(attempt({ from: other })).toBe(5);
  expect(attempt({ from: another })).toBe(0);
});

test('counters are bounded, and the least recently used ones are dropped', () => {
  const { attempt } = attempts(10);
  const fail = (): number => attempt({ from: '203.0.113.1' });
  times(16, fail);
  expect(fail()).toBe(5);
  for (let user = 0; user < 10; user += 1) attempt({ from: '203.0.113.2', email: `${user}@example.com` });
  expect(fail()).toBe(0);
});
