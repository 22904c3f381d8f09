import { describe, expect, test } from '@jest/globals';
import { detailsOf, MAINTAINED, maintainedRecord, START } from '../testing/campaign-record.ts';
import { findViolations } from './find-violations.ts';
import type { CampaignRecord, StatusChangeFacts, WindowFacts } from './record.ts';

const good = maintainedRecord();
const { database } = good;

function withWindow(changed: Partial<WindowFacts>): CampaignRecord {
  return { ...good, windows: good.windows.map((window) => ({ ...window, ...changed })) };
}

function withChanges(
  change: (one: StatusChangeFacts, index: number) => StatusChangeFacts | [],
): CampaignRecord {
  return { ...good, database: { ...database, statusChanges: database.statusChanges.flatMap(change) } };
}

test('a window that could not start in time is recorded as missed', () => {
  const [window] = good.windows;
  const late = {
    ...window,
    key: 'late',
    // Its monitor is not checked any more.
    startsAt: START + 46_000,
    endsAt: START + 76_000,
  };
  const windows = [...good.windows, late as WindowFacts];
  expect(findViolations({ ...good, windows })).toHaveLength(1);
  expect(findViolations({ ...good, windows, database: { ...database, missedWindows: ['late'] } })).toEqual(
    [],
  );
});

test('windows that overlap are one span of maintenance', () => {
  const [window] = good.windows;
  const halves = [
    { ...window, endsAt: START + 20_000 },
    { ...window, key: 'other', startsAt: START + 10_000, plannedAt: START + 9_000 },
  ];
  expect(findViolations({ ...good, windows: halves as WindowFacts[] })).toEqual([]);
});

test('correct maintenance has no violations, even if it was ended early', () => {
  expect(findViolations(good)).toEqual([]);
  const cut = { from: MAINTAINED.endsAt - 100, until: MAINTAINED.endsAt + 100 };
  expect(findViolations(withWindow({ endsAt: MAINTAINED.endsAt + 60_000, cut }))).toEqual([]);
});

test('a check within a window puts its monitor into maintenance before its result counts', () => {
  // The change has the next timestamp after the event of 5.100 s, which failed.
  const entered = (timestamp: number): CampaignRecord =>
    withChanges((one) => (one.to === 'MAINTENANCE' ? { ...one, timestamp } : one));
  expect(findViolations(entered(START + 5_101))).toEqual([]);
  expect(findViolations(entered(START + 5_102))).not.toEqual([]);
});

describe('findViolations finds', () => {
  test.each<[string, CampaignRecord, string, RegExp]>([
    [
      'maintenance without a window',
      withWindow({ startsAt: START + 90_000, endsAt: START + 120_000 }),
      'maintenance follows its windows',
      /^shop entered maintenance at .*:02.300Z without a window$/,
    ],
    [
      'maintenance of another monitor',
      withWindow({ monitors: [] }),
      'maintenance follows its windows',
      /without a window$/,
    ],
    [
      'a window without maintenance',
      withWindow({ startsAt: MAINTAINED.endsAt + 1_000, endsAt: MAINTAINED.endsAt + 30_000 }),
      'maintenance follows its windows',
      /^shop was not in maintenance during planned, which is not recorded as missed$/,
    ],
    [
      'maintenance that ends early',
      withWindow({ endsAt: MAINTAINED.endsAt + 60_000 }),
      'maintenance follows its windows',
      /left maintenance at .*:32.300Z while planned ran$/,
    ],
    [
      'maintenance that ends ten seconds after its start',
      {
        ...withChanges((one) => (one.from === 'MAINTENANCE' ? { ...one, timestamp: START + 12_000 } : one)),
      },
      'maintenance follows its windows',
      /left maintenance at .*:12.000Z while planned ran$/,
    ],
    [
      'maintenance that continues between two windows',
      {
        ...good,
        windows: [
          ...good.windows.map((window) => ({ ...window, startsAt: START - 80_000, endsAt: START - 40_000 })),
          ...good.windows.map((window) => ({ ...window, key: 'next', startsAt: START + 30_000 })),
        ],
      },
      'maintenance follows its windows',
      /left maintenance at .*:32.300Z, after .*:20.000Z$/,
    ],
    [
      'an alert from within a window',
      withWindow({ endsAt: MAINTAINED.endsAt + 60_000 }),
      'no alerts during maintenance',
      /^shop is announced DOWN at .*:32.300Z while planned ran$/,
    ],
    [
      'a check that did not put its monitor into maintenance',
      withWindow({ startsAt: START - 5_000, plannedAt: START - 6_000 }),
      'no alerts during maintenance',
      /^shop was checked at .*:00.100Z while planned ran, and not put into maintenance$/,
    ],
    [
      'a window that is recorded as missed although its monitor was in maintenance',
      { ...good, database: { ...database, missedWindows: ['planned'] } },
      'maintenance follows its windows',
      /^planned is recorded as missed, but all of its monitors were in maintenance at its end$/,
    ],
    [
      'maintenance that does not end',
      withChanges((one) => (['MAINTENANCE', 'DOWN'].includes(one.from) ? [] : one)),
      'maintenance follows its windows',
      /^shop is in maintenance since .*:02.300Z$/,
    ],
    [
      'maintenance that ends late',
      withWindow({ startsAt: START - 80_000, endsAt: START - 40_000 }),
      'maintenance follows its windows',
      /left maintenance at .*:32.300Z, after .*:20.000Z$/,
    ],
    [
      'a campaign without maintenance',
      withChanges((one) => (one.to === 'MAINTENANCE' ? [] : one)),
      'the campaign has alerts to lose',
      /^no monitor was in maintenance$/,
    ],
    [
      'an end of maintenance without an alert although checks fail',
      withChanges((one) => (one.from === 'MAINTENANCE' ? { ...one, webhookEvents: [] } : one)),
      'statuses follow from events',
      /change 2 should be MAINTENANCE to DOWN at .* and is MAINTENANCE to DOWN silently/,
    ],
    [
      'an end of maintenance as UP although checks fail',
      withChanges((one) => {
        if (one.from === 'DOWN') return [];
        return one.from === 'MAINTENANCE' ? { ...one, to: 'UP' } : one;
      }),
      'statuses follow from events',
      /change 2 should be MAINTENANCE to DOWN/,
    ],
    [
      'maintenance without its webhook event',
      withChanges((one) => (one.to === 'MAINTENANCE' ? { ...one, webhookEvents: [] } : one)),
      'each status change has its webhook events',
      /UP to MAINTENANCE silently at .* has {2}instead of monitor.maintenance/,
    ],
    [
      'an incident that begins with maintenance',
      {
        ...good,
        database: {
          ...database,
          incidents: database.incidents.map((one) => ({ ...one, openedAt: START + 2_300 })),
        },
      },
      'one incident for each outage',
      /was DOWN from .*:32.300Z to .*, without an incident$/,
    ],
    [
      'an outage during maintenance whose results were all dropped',
      {
        ...good,
        database: {
          ...database,
          events: database.events.filter(({ status }) => status === 'UP'),
          statusChanges: database.statusChanges.flatMap((one) => {
            if (one.from === 'DOWN') return [];
            return one.from === 'MAINTENANCE' ? { ...one, to: 'UP' as const, webhookEvents: [] } : one;
          }),
          incidents: [],
        },
      },
      'lasting responses of a target are seen',
      /^shop: 6 responses that mean DOWN, .* show nowhere$/,
    ],
    [
      'an alert at the end with the facts of an earlier check',
      withChanges((one) => ({
        ...one,
        webhookEvents: one.webhookEvents.map((event) => ({
          ...event,
          payload: event.payload.replace('HTTP_500', 'TIMEOUT'),
        })),
      })),
      'payloads follow from events',
      /webhook event 1 should be .*HTTP_500.* and is .*TIMEOUT/,
    ],
  ])('%s', (_, record, invariant, detail) => {
    expect(detailsOf(record, invariant)).toContainEqual(expect.stringMatching(detail));
  });
});
