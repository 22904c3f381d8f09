import { expect, test } from '@jest/globals';
import { at, changed, MAINTAINED, withOne, type RecordChange } from '../testing/campaign-record.ts';
import { testViolations, type ViolationTable } from '../testing/violations.ts';
import { findViolations } from './find-violations.ts';
import type { StatusChangeFacts, Violation, WindowFacts } from './record.ts';

const { windows, database } = MAINTAINED;
const { statusChanges } = database;
/** Indexes of status changes. */
const [ENTERED, LEFT] = [1, 2];

function find(change: RecordChange): Violation[] {
  return findViolations(changed(MAINTAINED, change));
}

/** Windows that differ from the planned one in these fields. */
function withWindows(...all: readonly Partial<WindowFacts>[]): RecordChange {
  return { windows: all.flatMap((fields) => windows.map((window) => ({ ...window, ...fields }))) };
}

function withChange(index: number, fields: Partial<StatusChangeFacts>): RecordChange {
  return { statusChanges: withOne(statusChanges, index, () => fields) };
}

const VIOLATIONS: ViolationTable<RecordChange> = {
  'maintenance follows its windows': {
    'shop entered maintenance at …:02.300Z without a window': withWindows({
      startsAt: at(90),
      endsAt: at(120),
    }),
    'shop was not in maintenance during planned, …': withWindows({ startsAt: at(33), endsAt: at(62) }),
    'shop left maintenance at …:12.000Z while planned ran': withChange(LEFT, { timestamp: at(12) }),
    // It continued between two windows.
    'shop left maintenance at …:32.300Z, after …:20.000Z': withWindows(
      { startsAt: at(-80), endsAt: at(-40) },
      { key: 'next', startsAt: at(30) },
    ),
    'shop is in maintenance since …:02.300Z': { statusChanges: statusChanges.slice(0, LEFT) },
    'planned is recorded as missed, but …': { missedWindows: ['planned'] },
  },
  'no alerts during maintenance': {
    'shop is announced DOWN at …:32.300Z while planned ran': withWindows({ endsAt: at(92) }),
    'shop was checked without maintenance at …:00.100Z …': withWindows({
      startsAt: at(-5),
      plannedAt: at(-6),
    }),
  },
  'the campaign has alerts to lose': {
    'no monitor was in maintenance': {
      statusChanges: statusChanges.filter(({ to }) => to !== 'MAINTENANCE'),
    },
  },
  'statuses follow from events': {
    'shop: change 2 should be … DOWN at … and is … DOWN silently at …': withChange(LEFT, {
      webhookEvents: [],
    }),
    // A check that failed before its monitor entered maintenance changes the status.
    'shop: change 1 should be UP to DOWN at … and is UP to MAINTENANCE at …': withChange(ENTERED, {
      timestamp: at(5.102),
    }),
  },
  'each status change has its webhook events': {
    '… MAINTENANCE silently … instead of monitor.maintenance': withChange(ENTERED, { webhookEvents: [] }),
  },
};

testViolations(VIOLATIONS, find);

test.each<[string, RecordChange]>([
  ['a window over the whole maintenance', {}],
  ['a window that ended early', withWindows({ endsAt: at(92), cut: { from: at(31.9), until: at(32.1) } })],
  [
    'windows that overlap',
    withWindows({ endsAt: at(20) }, { key: 'other', startsAt: at(10), plannedAt: at(9) }),
  ],
  [
    'a window that could not start in time, and is recorded as missed',
    // Its monitor is not checked any more.
    { ...withWindows({}, { key: 'late', startsAt: at(46), endsAt: at(76) }), missedWindows: ['late'] },
  ],
  // The change has the next timestamp after the event of 5.1 s, which failed.
  ['a check that put its monitor into maintenance', withChange(ENTERED, { timestamp: at(5.101) })],
])('findViolations tolerates %s', (_, change) => {
  expect(find(change)).toEqual([]);
});
