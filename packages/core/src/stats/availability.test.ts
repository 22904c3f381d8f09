import { expect, test } from '@jest/globals';
import { fc } from '../testing/fast-check.ts';
import { addTimes, uptimeOf, measureAvailability, type MonitorHistory, type Period } from './availability.ts';

const END = 60;
const moment = fc.integer({ min: 0, max: END });
/** Ordered periods without overlaps. Some touch, and the last may have no end. */
const periods = fc
  .tuple(fc.array(moment, { maxLength: 12 }), fc.boolean())
  .map(([times, isOpen]): Period[] => {
    const sorted = times.toSorted((one, other) => one - other);
    const ends = isOpen && sorted.length % 2 === 1 ? [...sorted, Infinity] : sorted;
    return ends.flatMap((to, index) => (index % 2 === 0 ? [] : [{ from: ends[index - 1] ?? 0, to }]));
  });
const history = fc.record<MonitorHistory>({
  createdAt: moment,
  incidents: periods,
  maintenance: periods,
  unknown: periods,
});
const period = fc
  .tuple(moment, moment)
  .map(([one, other]): Period => ({ from: Math.min(one, other), to: Math.max(one, other) }));
const mode = fc.constantFrom('included', 'excluded');

const isIn = (time: number, all: readonly Period[]): boolean =>
  all.some(({ from, to }) => time >= from && time < to);

test('equals the result of counting every millisecond', () => {
  fc.assert(
    fc.property(history, period, mode, (recorded, { from, to }, maintenanceMode) => {
      const { createdAt, incidents, maintenance, unknown } = recorded;
      const all = Array.from({ length: to - from }, (_, index) => from + index);
      const observed = all.filter((time) => time >= createdAt && !isIn(time, unknown));
      const counted = observed.filter((time) => maintenanceMode === 'included' || !isIn(time, maintenance));
      const downtimes = incidents.map((incident) => counted.filter((time) => isIn(time, [incident])).length);
      expect(measureAvailability(recorded, { from, to }, maintenanceMode)).toEqual({
        observedMs: observed.length,
        maintenanceMs: observed.filter((time) => isIn(time, maintenance)).length,
        countedMs: counted.length,
        downtimeMs: counted.filter((time) => isIn(time, incidents)).length,
        incidents: downtimes.filter((downtime) => downtime > 0).length,
        longestIncidentMs: Math.max(0, ...downtimes),
      });
    }),
    { numRuns: 400 },
  );
});

test('the parts of a period add up to the whole', () => {
  fc.assert(
    fc.property(history, period, moment, mode, (recorded, whole, split, maintenanceMode) => {
      const middle = Math.min(Math.max(split, whole.from), whole.to);
      const parts = [
        { from: whole.from, to: middle },
        { from: middle, to: whole.to },
      ].map((part) => measureAvailability(recorded, part, maintenanceMode));
      const { observedMs, maintenanceMs, countedMs, downtimeMs, longestIncidentMs } = addTimes(parts);
      expect(longestIncidentMs).toBe(Math.max(...parts.map((part) => part.longestIncidentMs)));
      const sums = { observedMs, maintenanceMs, countedMs, downtimeMs };
      expect(measureAvailability(recorded, whole, maintenanceMode)).toMatchObject(sums);
    }),
  );
});

const HOUR_MS = 3_600_000;
const DAY: Period = { from: 0, to: 24 * HOUR_MS };
const created: MonitorHistory = { createdAt: -HOUR_MS, incidents: [], maintenance: [], unknown: [] };
const hours = (from: number, to: number): Period => ({ from: from * HOUR_MS, to: to * HOUR_MS });

test.each<[string, Partial<MonitorHistory>, number | null, number | null]>([
  ['without incidents', {}, 1, 1],
  ['an incident of an hour', { incidents: [hours(3, 4)] }, 23 / 24, 23 / 24],
  ['an incident that began before and is open', { incidents: [hours(-9, Infinity)] }, 0, 0],
  ['an incident across the end', { incidents: [hours(23, 30)] }, 23 / 24, 23 / 24],
  ['an incident of another day', { incidents: [hours(25, 26)] }, 1, 1],
  ['maintenance alone', { maintenance: [hours(0, 12)] }, 1, 1],
  ['an incident in maintenance', { incidents: [hours(2, 3)], maintenance: [hours(1, 4)] }, 23 / 24, 1],
  [
    'an incident that reaches into maintenance',
    { incidents: [hours(2, 6)], maintenance: [hours(4, 12)] },
    20 / 24,
    14 / 16,
  ],
  ['maintenance all day', { incidents: [hours(2, 3)], maintenance: [hours(-1, Infinity)] }, 23 / 24, null],
  [
    'unknown for an hour of an incident',
    { incidents: [hours(2, 5)], unknown: [hours(3, 4)] },
    21 / 23,
    21 / 23,
  ],
  ['created in the middle', { createdAt: 12 * HOUR_MS, incidents: [hours(12, 15)] }, 9 / 12, 9 / 12],
  ['created later', { createdAt: 25 * HOUR_MS }, null, null],
])('uptime of a day %s', (_name, recorded, included, excluded) => {
  const monitor = { ...created, ...recorded };
  expect(uptimeOf(measureAvailability(monitor, DAY, 'included'))).toBe(included);
  expect(uptimeOf(measureAvailability(monitor, DAY, 'excluded'))).toBe(excluded);
});
