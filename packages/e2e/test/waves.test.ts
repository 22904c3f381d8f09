import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { createMonitorSchema } from '@tocsin/contracts/monitor';
import { waveId, waveOf } from '@tocsin/core/schedule/wave';
import { insertMonitors } from '@tocsin/db/monitors/insert-monitors';
import { deleteMonitor } from '@tocsin/db/monitors/delete-monitor';
import { updateMonitor } from '@tocsin/db/monitors/update-monitor';
import { HeldTarget } from '@tocsin/e2e/held-target';
import type { ServiceProcess } from '@tocsin/e2e/service-process';
import { createSystem, type System } from '@tocsin/e2e/system';
import { untilSeen } from '@tocsin/e2e/until-seen';
import { HttpTarget } from '@tocsin/embedded/local-web/http-target';
import { until } from '@tocsin/embedded/testing/until';
import { Redis } from 'ioredis';
import { readFile } from 'node:fs/promises';

const INTERVAL = 5;
const INTERVAL_MS = INTERVAL * 1_000;
/** The longest: no check of a target that answers ends by it, however busy the machine. */
const TIMEOUT = 60;
const MEMBERS = 3;
const MOST_TRIED = 2_000;
const TRIED_AT_ONCE = 20;

let target: HttpTarget;
let held: HeldTarget;
let system: System;
let redis: Redis;
let api: ServiceProcess;
/** Those that run. */
let checkers: ServiceProcess[];
/** The monitors of one wave. */
let slow: string;
let others: string[];
/** One of each of two more waves. */
let apart: string[];
/** The slot of the wave in which a checker was killed. */
let killedSlot: number;

beforeAll(async () => {
  [target, held] = await Promise.all([HttpTarget.start(), HeldTarget.start()]);
  system = await createSystem({ queue: 'redis', receiverCa: '-----BEGIN CERTIFICATE-----' });
  redis = new Redis(system.queueUrl);
  [[slow = '', ...others], apart] = await createWaves();
  api = system.service('api');
  checkers = [system.service('checker'), system.service('checker')];
  await Promise.all([api, ...checkers].map((one) => one.start()));
});
afterAll(async () => {
  redis.disconnect();
  await system.close();
  await Promise.all([target.stop(), held.stop()]);
});

/** Monitors of one wave and one of each of two more, each with a path of its own; there before any service runs. */
async function createWaves(): Promise<[string[], string[]]> {
  const { context } = system;
  const byWave = new Map<string, string[]>();
  let members: string[] = [];
  for (let tried = 0; tried < MOST_TRIED && members.length < MEMBERS; tried += TRIED_AT_ONCE) {
    const inputs = Array.from({ length: TRIED_AT_ONCE }, (_, index) => {
      const url = target.url(`/${tried + index}`);
      return createMonitorSchema.parse({ name: 'Member', url, interval: INTERVAL, timeout: TIMEOUT });
    });
    const written = await context.db.transaction((tx) =>
      insertMonitors(tx, context.secrets, context.accountId, inputs, 'default'),
    );
    for (const { row } of written) {
      const wave = waveId(waveOf(row.id, INTERVAL));
      byWave.set(wave, [...(byWave.get(wave) ?? []), row.id]);
    }
    members = [...byWave.values()].find((ids) => ids.length >= MEMBERS)?.slice(0, MEMBERS) ?? [];
  }
  expect(members).toHaveLength(MEMBERS);
  const rest = [...byWave.values()].filter((ids) => !ids.includes(members[0] ?? '')).map(([id = '']) => id);
  const kept = rest.slice(0, 2);
  for (const id of [...byWave.values()].flat()) {
    if (!members.includes(id) && !kept.includes(id)) await deleteMonitor(context.db, context.accountId, id);
  }
  return [members, kept];
}

async function edit(id: string, url: string): Promise<void> {
  await updateMonitor(system.context, system.context.accountId, id, { url }, 'default');
}

interface PlannedCheck {
  readonly slot: number;
  readonly recordedAt: number;
}

/** What is recorded of the planned slots of a monitor, epoch milliseconds; one twice where it is recorded twice. */
async function checksOf(id: string): Promise<PlannedCheck[]> {
  const { rows } = await system.context.db.execute<{ slot: number; at: number }>(
    `select (extract(epoch from slot) * 1000)::float8 as slot, (extract(epoch from timestamp) * 1000)::float8 as at
     from events where monitor_id = '${id}' and slot is not null order by slot`,
  );
  const { phaseMs } = waveOf(id, INTERVAL);
  return rows
    .map(({ slot, at }) => ({ slot, recordedAt: at }))
    .filter(({ slot }) => slot % INTERVAL_MS === phaseMs);
}

async function slotsOf(id: string): Promise<number[]> {
  return (await checksOf(id)).map(({ slot }) => slot);
}

/** Waits until each of them has so many planned checks of slots after this one. */
async function untilChecked(ids: readonly string[], times: number, after = 0): Promise<void> {
  await untilSeen(`${times} planned checks of each`, async () => {
    const slots = await Promise.all(ids.map(slotsOf));
    return slots.every((each) => each.filter((slot) => slot > after).length >= times);
  });
}

/** The sum of the values that this matches first in the metrics of the checkers. */
async function sumOf(series: RegExp): Promise<number> {
  const texts = await Promise.all(checkers.map((one) => one.metrics()));
  return texts
    .flatMap((text) => [...text.matchAll(series)])
    .reduce((sum, [, value]) => sum + Number(value), 0);
}

/**
 * Every slot from the first recorded one on, once. One may be missing only where some check was recorded an interval after
 * its slot or later, as on a machine that is busy, and each such slot was counted as missed.
 */
async function expectUnbroken(ids: readonly string[], from = 0): Promise<void> {
  let missing = 0;
  let latestMs = 0;
  for (const id of ids) {
    const checks = (await checksOf(id)).filter(({ slot }) => slot >= from);
    const slots = checks.map(({ slot }) => slot);
    expect(slots).toEqual([...new Set(slots)]);
    const [first = 0] = slots;
    missing += ((slots.at(-1) ?? first) - first) / INTERVAL_MS + 1 - slots.length;
    latestMs = Math.max(latestMs, ...checks.map(({ slot, recordedAt }) => recordedAt - slot));
  }
  if (latestMs < INTERVAL_MS) expect(missing).toBe(0);
  await untilSeen(
    `${missing} missing slots to be counted`,
    async () => (await sumOf(/^tocsin_checks_missed_total\{.*\} (\d+)$/gm)) >= missing,
  );
}

test('two checkers share the waves: each slot of each monitor is recorded once, and asked for once', async () => {
  const members = [slow, ...others, ...apart];
  await untilChecked(members, 2);
  await untilSeen('each of them to have done some', async () => {
    const texts = await Promise.all(checkers.map((one) => one.metrics()));
    return texts.every((text) =>
      /^tocsin_check_schedule_lag_seconds_count\{region="default"\} [1-9]/m.test(text),
    );
  });
  // Counted in this order: were one asked for twice, the requests would be ahead for good.
  await untilSeen('each request to be recorded', async () => {
    const { rows } = await system.context.db.execute<{ count: number }>(
      'select count(*)::int as count from events',
    );
    return rows[0]?.count === [...target.requests.values()].reduce((sum, count) => sum + count, 0);
  });
  await expectUnbroken(members);
});

/** The checker that has a check under way, while the other one has none. */
async function whoeverChecks(): Promise<ServiceProcess> {
  return untilSeen('one of them to check', async () => {
    const texts = await Promise.all(checkers.map((one) => one.metrics()));
    const busy = checkers.filter((_, index) => {
      const read = (name: string): number =>
        Number(new RegExp(`^${name}_count\\{.*\\} (\\d+)$`, 'm').exec(texts[index] ?? '')?.[1] ?? 0);
      return read('tocsin_check_schedule_lag_seconds') > read('tocsin_check_duration_seconds');
    });
    return busy.length === 1 && busy[0];
  });
}

test('a checker is killed in the middle of a wave: another one checks the member of which nothing is recorded', async () => {
  await edit(slow, held.url);
  await until('the check that hangs', () => held.asked === 1);
  const locks = `tocsin:{checks.default}:repeat:${waveId(waveOf(slow, INTERVAL))}:*:lock`;
  const [lock = ''] = (await redis.keys(locks)).toSorted();
  killedSlot = Number(/(\d+):lock$/.exec(lock)?.[1]);
  await untilSeen('the others of its wave', async () =>
    (await Promise.all(others.map(slotsOf))).every((slots) => slots.includes(killedSlot)),
  );
  const doomed = await whoeverChecks();
  await doomed.signal('SIGKILL');
  checkers = checkers.filter((one) => one !== doomed);
  // As it goes by itself within 10 s. The machine may be so busy that the slot would then be too late to be checked.
  await redis.del(lock);
  await until('the check that hangs, by the other checker', () => held.asked === 2);
});

test('a member that hangs until its timeout does not delay the checks of the others', async () => {
  const last = Math.max(...(await slotsOf(others[0] ?? '')));
  await untilChecked(others, 2, last);
  // All of that while it hangs: nothing was recorded of it, and it was not asked again.
  expect(await slotsOf(slow)).not.toContain(killedSlot);
  expect(held.asked).toBe(2);
  expect(await sumOf(/^tocsin_checks_missed_total\{.*reason="overlap"\} (\d+)$/gm)).toBeGreaterThan(0);
  // Of the slot that ran twice only the member that hung was checked again.
  expect(await sumOf(/^tocsin_results_dropped_total\{.*\} (\d+)$/gm)).toBe(0);
  await expectUnbroken([...others, ...apart], killedSlot);

  held.release();
  await untilSeen('the slot of the one that hung', async () => (await slotsOf(slow)).includes(killedSlot));
  expect((await slotsOf(slow)).filter((slot) => slot === killedSlot)).toHaveLength(1);
});

test('an edit counts from the next slot on, without any api', async () => {
  await api.signal('SIGKILL');
  await edit(slow, target.url('/edited'));
  const editedAt = Date.now();
  await untilChecked([slow, ...others], 2, editedAt);
  // One that was due while it was edited may have been either.
  const afterwards = (await slotsOf(slow)).filter((slot) => slot > editedAt).length;
  expect(target.requests.get('/edited')).toBeGreaterThanOrEqual(afterwards);
  await expectUnbroken([...others, ...apart], killedSlot);
});

test('a checker that is told to stop records the check that is under way', async () => {
  const [checker] = checkers;
  if (checker === undefined) throw new Error('no checker runs');
  const asked = held.asked;
  await edit(slow, held.url);
  await until('a check', () => held.asked > asked);
  const recorded = (await slotsOf(slow)).length;
  const ended = checker.signal('SIGTERM');
  await untilSeen('it to stop', async () => (await readFile(checker.logFile, 'utf8')).includes('"Stopping"'));
  held.release();
  expect(await ended).toBe(0);
  expect(await slotsOf(slow)).toHaveLength(recorded + 1);
});
