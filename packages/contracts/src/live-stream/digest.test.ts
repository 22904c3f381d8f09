import { expect, test } from '@jest/globals';
import { type DigestedMonitor, digestOf, digestSchema } from './digest.ts';

const AT = '2026-01-01T00:00:00.000Z';
const LATER = '2026-01-01T00:00:00.001Z';
const incident = { id: 'i', acknowledgedAt: null };

const monitors = Array.from({ length: 200 }, (_, number): DigestedMonitor => ({
  id: `m${number}`,
  status: number % 3 === 0 ? 'DOWN' : 'UP',
  statusSince: AT,
  errorDetail: null,
  updatedAt: AT,
  certificateExpiresAt: null,
  failing: number % 3 === 0,
  incident: number % 3 === 0 ? incident : null,
}));
const digest = digestOf(monitors);

/** Returns the digest after one monitor changes. */
function after(change: Partial<DigestedMonitor>): ReturnType<typeof digestOf> {
  return digestOf(monitors.map((one, index) => (index === 99 ? { ...one, ...change } : one)));
}

test('does not depend on the order', () => {
  expect(digestOf(monitors.toReversed())).toEqual(digest);
  expect(digestSchema.parse(digest)).toEqual(digest);
  const none = '0000000000000000';
  expect(digestOf([])).toEqual({ statuses: none, configuration: none, details: none });
});

test.each<[Partial<DigestedMonitor>, string]>([
  [{ status: 'UP' }, 'statuses'],
  [{ statusSince: LATER }, 'statuses'],
  [{ updatedAt: LATER }, 'configuration'],
  [{ errorDetail: 'connection refused' }, 'details'],
  [{ certificateExpiresAt: LATER }, 'details'],
  [{ failing: false }, 'details'],
  [{ incident: null }, 'details'],
  [{ incident: { ...incident, acknowledgedAt: LATER } }, 'details'],
])('%j changes only the %s', (change, expected) => {
  const changed = after(change);
  const differing = (['statuses', 'configuration', 'details'] as const).filter(
    (name) => changed[name] !== digest[name],
  );
  expect(differing).toEqual([expected]);
});

test('two monitors that swap their statuses change the digest', () => {
  const swapped = monitors.map((one, index) =>
    index < 2 ? { ...one, status: index === 0 ? ('UP' as const) : ('DOWN' as const) } : one,
  );
  expect(digestOf(swapped).statuses).not.toBe(digest.statuses);
});

test('a created and a deleted monitor change both', () => {
  for (const changed of [
    monitors.slice(1),
    [...monitors, { ...monitors[0], id: 'new' } as DigestedMonitor],
  ]) {
    const { statuses, configuration } = digestOf(changed);
    expect([statuses === digest.statuses, configuration === digest.configuration]).toEqual([false, false]);
  }
});
