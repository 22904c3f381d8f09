import { afterEach, expect, jest, test } from '@jest/globals';
import { captureLog } from '@tocsin/runtime/testing/captured-log';
import { DatabaseClock } from './database-clock.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;
const START = Date.UTC(2026, 10, 20, 12);

/** A single machine. Postgres uses its clock, too. */
const machine = { now: START, upMs: 0, watermark: new Date(START - HOUR_MS) as Date | null, doubtedMs: 0 };
/** Milliseconds by which Postgres' clock is ahead of the process' clock. */
let aheadMs = 0;
let log: ReturnType<typeof captureLog>;
function open(): DatabaseClock {
  Object.assign(machine, { now: START, upMs: 0, watermark: new Date(START - HOUR_MS), doubtedMs: 0 });
  log = captureLog();
  aheadMs = 0;
  jest.spyOn(Date, 'now').mockImplementation(() => machine.now);
  jest.spyOn(performance, 'now').mockImplementation(() => machine.upMs);
  return restart();
}
function restart(): DatabaseClock {
  return new DatabaseClock({
    readClock: async () => machine.now + aheadMs,
    readState: async () =>
      machine.watermark && { rolledUntil: machine.watermark, clockDoubtedMs: machine.doubtedMs },
    writeDoubt: async (doubtedMs) => {
      machine.doubtedMs = doubtedMs;
    },
    logger: log.logger,
  });
}
/** The leader reads the clock every minute. */
async function leadFor(clock: DatabaseClock, ms: number): Promise<void> {
  for (let led = 0; led < ms; led += MINUTE_MS) {
    machine.now += MINUTE_MS;
    machine.upMs += MINUTE_MS;
    await clock.read();
  }
}
const agrees = async (clock: DatabaseClock): Promise<boolean> => (await clock.read()).agrees;
const logged = (): number =>
  log.text().match(/Nothing is deleted or rolled up until an api has led for 24 hours/g)?.length ?? 0;

afterEach(() => {
  jest.restoreAllMocks();
});

test('a clock that jumps 100 days ahead is not trusted, even after a restart, until it is corrected', async () => {
  const clock = open();
  expect(await agrees(clock)).toBe(true);
  machine.now += 100 * DAY_MS;
  expect(await agrees(clock)).toBe(false);
  await leadFor(clock, DAY_MS - MINUTE_MS);
  expect(await agrees(clock)).toBe(false);
  expect(logged()).toBe(1);
  const restarted = restart();
  expect(await agrees(restarted)).toBe(false);
  machine.now -= 100 * DAY_MS;
  expect(await agrees(restarted)).toBe(true);
  expect(logged()).toBe(2);
});

test('after an outage of weeks the clock is trusted again after 24 hours, and stays trusted during the backlog', async () => {
  const clock = open();
  machine.now += 30 * DAY_MS;
  expect(await agrees(clock)).toBe(false);
  await leadFor(clock, DAY_MS);
  expect(await agrees(clock)).toBe(true);
  machine.watermark = new Date(START + 10 * DAY_MS);
  expect([await agrees(clock), await agrees(restart())]).toEqual([true, true]);
  machine.watermark = new Date(machine.now - HOUR_MS);
  expect(await agrees(clock)).toBe(true);
  // The next jump is doubted for 24 hours again.
  machine.now += 100 * DAY_MS;
  expect(await agrees(clock)).toBe(false);
});

test('an api that runs for a few hours at a time trusts the clock again, too', async () => {
  open();
  machine.now += 30 * DAY_MS;
  for (let day = 1; day <= 3; day += 1) {
    const clock = restart();
    expect(await agrees(clock)).toBe(false);
    await leadFor(clock, 8 * HOUR_MS);
    machine.now += 16 * HOUR_MS;
  }
  expect(await agrees(restart())).toBe(true);
});

test('time in which another api may have led does not count', async () => {
  const clock = open();
  machine.now += 30 * DAY_MS;
  expect(await agrees(clock)).toBe(false);
  machine.now += 2 * DAY_MS;
  machine.upMs += 2 * DAY_MS;
  expect(await agrees(clock)).toBe(false);
});

test('a watermark that became old while an api led causes no doubt, but a later jump does', async () => {
  const clock = open();
  machine.watermark = null;
  expect(await agrees(clock)).toBe(true);
  // The first roll-up begins with the first monitor.
  machine.watermark = new Date(START - 30 * DAY_MS);
  await leadFor(clock, HOUR_MS);
  expect(await agrees(clock)).toBe(true);
  machine.now += 100 * DAY_MS;
  expect(await agrees(clock)).toBe(false);
});

test('an outage of four days, or a system without rollups, causes no doubt', async () => {
  const clock = open();
  machine.now = START - HOUR_MS + 4 * DAY_MS;
  expect(await agrees(clock)).toBe(true);
  machine.now += 1;
  expect(await agrees(restart())).toBe(false);
  machine.watermark = null;
  expect(await agrees(clock)).toBe(true);
});

test('clocks that differ by more than a minute do not agree', async () => {
  const clock = open();
  for (const [difference, expected] of [
    [MINUTE_MS, true],
    [MINUTE_MS + 1, false],
    [-MINUTE_MS - 1, false],
  ] as const) {
    aheadMs = difference;
    expect([difference, await agrees(clock)]).toEqual([difference, expected]);
  }
});
