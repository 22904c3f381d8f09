import { describe, expect, test } from '@jest/globals';
import { describeChecks, describeExpiry, formatUptime, soonestExpiry } from './figures.ts';

test.each([
  [1, '100 %'],
  [0.999_999_9, '99.999 %'],
  [0.99987, '99.987 %'],
  [0.9995, '99.95 %'],
  [0.99, '99.00 %'],
  [0.57, '57.00 %'],
  [0.5, '50.00 %'],
  [0.000_001, '0.00 %'],
  [0, '0.00 %'],
])('an uptime of %d reads %s: never rounded up', (uptime, text) => {
  expect(formatUptime(uptime)).toBe(text);
});

test('failures and gaps are said where there are any', () => {
  const figures = { uptime: 1, checks: 2_880, failures: 0, gaps: 0, latency: null };
  expect(describeChecks(figures)).toBe('2,880 checks');
  expect(describeChecks({ ...figures, checks: 1, failures: 1, gaps: 1 })).toBe('1 check, 1 failed, 1 gap');
  expect(describeChecks({ ...figures, checks: 0, gaps: 12 })).toBe('0 checks, 12 gaps');
});

describe('the certificate', () => {
  const now = Date.parse('2026-03-01T12:00:00.000Z');
  const expiring = (...at: (string | null)[]): ReturnType<typeof soonestExpiry> =>
    soonestExpiry(
      at.map((certificateExpiresAt) => ({ certificateExpiresAt })),
      now,
    );

  test('nothing is said where no region has seen one', () => {
    expect(expiring()).toBeNull();
    expect(expiring(null, null)).toBeNull();
  });

  test('the soonest of the regions counts', () => {
    expect(expiring('2026-06-01T00:00:00.000Z', null, '2026-03-20T00:00:00.000Z')).toMatchObject({
      expiresAt: '2026-03-20T00:00:00.000Z',
      daysLeft: 18,
      state: 'soon',
    });
  });

  test.each([
    ['2026-03-31T12:00:00.000Z', 'fine', '30 days left'],
    ['2026-03-31T11:59:59.000Z', 'soon', '29 days left'],
    ['2026-03-08T12:00:00.000Z', 'soon', '7 days left'],
    ['2026-03-08T11:59:59.000Z', 'critical', '6 days left'],
    ['2026-03-02T12:00:00.000Z', 'critical', '1 day left'],
    ['2026-03-01T12:00:01.000Z', 'critical', 'less than a day left'],
    ['2026-03-01T11:59:59.000Z', 'expired', 'expired'],
  ])('one that ends at %s is %s', (at, state, text) => {
    const expiry = expiring(at);
    expect(expiry?.state).toBe(state);
    expect(expiry && describeExpiry(expiry)).toBe(text);
  });
});
