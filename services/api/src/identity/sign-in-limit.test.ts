import { describe, expect, test } from '@jest/globals';
import { SignInLimit } from './sign-in-limit.ts';

const EMAIL = 'ada@example.com';

interface Attempts {
  /** Attempts that fail. @returns what each had to wait, in seconds; 0: its password was checked */
  readonly fail: (address: string, count: number, device?: string | null, email?: string) => number[];
  readonly succeed: (address: string, device?: string | null) => boolean;
  readonly sleep: (seconds: number) => void;
  readonly limit: SignInLimit;
}

function attempts(maxCounters?: number): Attempts {
  let now = 0;
  const limit = new SignInLimit({ now: () => now, ...(maxCounters !== undefined && { maxCounters }) });
  const end = (
    outcome: 'failed' | 'succeeded',
    email: string,
    address: string,
    device: string | null,
  ): number => {
    const attempt = limit.begin({ email, address, device });
    if (typeof attempt === 'number') return attempt;
    attempt.end(outcome);
    return 0;
  };
  return {
    limit,
    fail: (address, count, device = null, email = EMAIL) =>
      Array.from({ length: count }, () => end('failed', email, address, device)),
    succeed: (address, device = null) => end('succeeded', EMAIL, address, device) === 0,
    sleep: (seconds) => void (now += seconds * 1_000),
  };
}

const addresses = (count: number, prefix = '203.0.113'): string[] =>
  Array.from({ length: count }, (_, index) => `${prefix}.${index}`);

describe('one network', () => {
  test('waits for longer after each failure, for ten seconds at most', () => {
    const { fail, sleep } = attempts();
    expect(fail('203.0.113.1', 6)).toEqual([0, 0, 0, 0, 0, 1]);
    const waits = [1, 2, 4, 8, 10, 10].map((seconds) => {
      sleep(seconds - 0.5);
      const early = fail('203.0.113.1', 1);
      sleep(0.5);
      return [...early, ...fail('203.0.113.1', 1)];
    });
    expect(waits).toEqual([
      [1, 0],
      [1, 0],
      [1, 0],
      [1, 0],
      [1, 0],
      [1, 0],
    ]);
  });

  test('starts again after a right password, and after an hour', () => {
    const { fail, succeed, sleep } = attempts();
    fail('203.0.113.1', 4);
    expect(succeed('203.0.113.1')).toBe(true);
    expect(fail('203.0.113.1', 6)).toEqual([0, 0, 0, 0, 0, 1]);
    sleep(3_601);
    expect(fail('203.0.113.1', 6)).toEqual([0, 0, 0, 0, 0, 1]);
  });

  test.each([
    ['203.0.113.1', '::ffff:203.0.113.1'],
    ['2001:db8::1', '2001:0db8:0:0:ffff::2'],
    ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::'],
    ['fe80::1', 'fe80::2%eth0'],
  ])('is one by its IPv4 address, or 64 bits of IPv6: %s and %s', (one, other) => {
    const { fail } = attempts();
    fail(one, 5);
    expect(fail(other, 1)).toEqual([1]);
    expect(fail('2001:db8:9::1', 1)).toEqual([0]);
  });

  test('cannot get past the limit with attempts at the same time', () => {
    const { limit } = attempts();
    const begun = Array.from({ length: 8 }, () =>
      limit.begin({ email: EMAIL, address: '203.0.113.1', device: null }),
    );
    expect(begun.map((attempt) => typeof attempt === 'number')).toEqual([
      false,
      false,
      false,
      false,
      false,
      true,
      true,
      true,
    ]);
  });

  test('is not charged for a password that was not checked', () => {
    const { limit, fail } = attempts();
    for (let time = 0; time < 10; time += 1) {
      const attempt = limit.begin({ email: EMAIL, address: '203.0.113.1', device: null });
      if (typeof attempt !== 'number') attempt.end('undecided');
    }
    expect(fail('203.0.113.1', 6)).toEqual([0, 0, 0, 0, 0, 1]);
  });
});

describe('one account', () => {
  test('delays guesses from many networks', () => {
    const { fail, sleep } = attempts();
    expect(addresses(20).flatMap((address) => fail(address, 1))).toEqual(Array(20).fill(0));
    const [late = '', later = ''] = addresses(2, '198.51.100');
    expect(fail(late, 1)).toEqual([1]);
    sleep(1);
    expect([...fail(late, 1), ...fail(later, 1)]).toEqual([0, 2]);
  });

  test('is open to its user while one network, or a few, guess all the time', () => {
    const { fail, succeed } = attempts();
    for (const address of addresses(3)) fail(address, 100);
    expect(succeed('198.51.100.1')).toBe(true);
  });

  test('makes its user wait for ten seconds at most while many networks guess all the time', () => {
    const { fail, succeed, sleep } = attempts();
    for (let second = 0; second < 300; second += 1) {
      for (const address of addresses(8)) fail(address, 3);
      sleep(1);
    }
    sleep(9);
    expect(succeed('198.51.100.1')).toBe(true);
  });

  test('is always open to a device that has signed in before', () => {
    const { fail, succeed } = attempts();
    for (const address of addresses(100)) fail(address, 10);
    expect(succeed('198.51.100.1')).toBe(false);
    expect(succeed('198.51.100.1', 'laptop')).toBe(true);
    expect(succeed('203.0.113.1', 'laptop')).toBe(true);
    expect(fail('198.51.100.1', 6, 'laptop')).toEqual([0, 0, 0, 0, 0, 1]);
  });

  test('says nothing of another', () => {
    const { fail } = attempts();
    for (const address of addresses(100)) fail(address, 10);
    expect(fail('203.0.113.1', 1, null, 'grace@example.com')).toEqual([0]);
  });
});

test('the counters are bounded: the ones that were used longest ago are dropped', () => {
  const { fail } = attempts(10);
  fail('203.0.113.1', 5);
  for (let user = 0; user < 4; user += 1) fail('203.0.113.2', 1, null, `${user}@example.com`);
  expect(fail('203.0.113.1', 1)).toEqual([1]);
  for (let user = 0; user < 5; user += 1) fail('203.0.113.2', 1, null, `${user}@example.org`);
  expect(fail('203.0.113.1', 1)).toEqual([0]);
});
