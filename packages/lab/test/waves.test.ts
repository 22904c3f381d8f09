import { readFile } from 'node:fs/promises';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { createMonitorSchema } from '@tocsin/contracts/monitors/monitor';
import { waveId, waveOf } from '@tocsin/core/schedule/slots';
import { systemActor } from '@tocsin/db/audit-log/actor';
import { deleteMonitor } from '@tocsin/db/monitors/delete-monitors';
import { insertMonitors } from '@tocsin/db/monitors/create-monitors';
import { updateMonitor } from '@tocsin/db/monitors/update-monitors';

import type { ServiceProcess } from '@tocsin/lab/service-process';
import { createSystem, type System } from '@tocsin/lab/system';
import { HttpTarget } from '@tocsin/embedded/local-web/http-target';
import { until } from '@tocsin/embedded/testing/until';
import { Redis } from 'ioredis';

const INTERVAL = 5;
const INTERVAL_MS = INTERVAL * 1_000;
/** The longest timeout: a check of a target that responds does not time out, even on a busy machine. */
const TIMEOUT = 60;
const MEMBERS = 3;
const MAX_TRIED = 2_000;
const TRIED_AT_ONCE = 20;
const MISSED = /^tocsin_checks_missed_total\{.*\} (\d+)$/gm;
const OVERLAPS = /^tocsin_checks_missed_total\{.*reason="overlap"\} (\d+)$/gm;

let target: HttpTarget;
let hanging: HttpTarget;
let system: System;
let redis: Redis;
let api: ServiceProcess;
/** The checkers that run. */
let checkers: ServiceProcess[];
/** The monitors of one wave. */
let slow: string;
let others: string[];
/** One monitor of each of two other waves. */
let apart: string[];
/** The slot of the wave in which a checker was killed. */
let killedSlot: number;
/** Missed slots that the killed checker had counted. */
let missedByKilled = 0;
/** Slots that `slow` missed because its check hung. */
let missedBySlow = 0;

beforeAll(async () => {
  [target, hanging] = await Promise.all([HttpTarget.start(), HttpTarget.start({ hangs: true })]);
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
  await Promise.all([target.stop(), hanging.stop()]);
});

/** Creates monitors of one wave and one of each of two others, each with a path of its own, before any service runs. */
async function createWaves(): Promise<[string[], string[]]> {
  const { context } = system;
  const byWave = new Map<string, string[]>();
  let members: string[] = [];
  for (let tried = 0; tried < MAX_TRIED && members.length < MEMBERS; tried += TRIED_AT_ONCE) {
    const inputs = Array.from({ length: TRIED_AT_ONCE }, (_, index) => {
      const url = target.url(`/${tried + index}`);
      return createMonitorSchema.parse({ name: 'Member', url, interval: INTERVAL, timeout: TIMEOUT });
    });
    const written = await context.db.transaction((tx) =>
      insertMonitors({ ...context, tx, defaultRegion: 'default' }, inputs),
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
    if (!members.includes(id) && !kept.includes(id))
      await deleteMonitor(context.db, systemActor(context.accountId), id);
  }
  return [members, kept];
}

async function edit(id: string, url: string): Promise<void> {
  await updateMonitor(system.context, systemActor(system.context.accountId), id, { url }, 'default');
}

interface PlannedCheck {
  readonly slot: number;
  readonly recordedAt: number;
}

/** The recorded checks of a monitor's planned slots, in epoch milliseconds. A slot that is recorded twice appears twice. */
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

/** Waits until each monitor has this many planned checks of slots after `after`. */
async function untilChecked(ids: readonly string[], times: number, after = 0): Promise<void> {
  await until(`${times} planned checks of each`, async () => {
    const slots = await Promise.all(ids.map(slotsOf));
    return slots.every((each) => each.filter((slot) => slot > after).length >= times);
  });
}

/** Sums the first group of all matches in the metrics of these checkers, by default of all that run. */
async function sumOf(series: RegExp, of: readonly ServiceProcess[] = checkers): Promise<number> {
  const texts = await Promise.all(of.map((one) => one.metrics()));
  return texts
    .flatMap((text) => [...text.matchAll(series)])
    .reduce((sum, [, value]) => sum + Number(value), 0);
}

/** How many slots between the first and the last of these are missing. */
function countMissing(slots: readonly number[]): number {
  const [first = 0] = slots;
  return ((slots.at(-1) ?? first) - first) / INTERVAL_MS + 1 - slots.length;
}

/**
 * Each monitor has one check of every slot from its first recorded one on. A slot may be missing only if the machine is so busy
 * that a check was recorded an interval or more after its slot. The checkers must have counted each missing slot, in addition to
 * those of `slow`.
 */
async function expectUnbroken(ids: readonly string[], from = 0): Promise<void> {
  let missing = 0;
  let latestMs = 0;
  for (const id of ids) {
    const checks = (await checksOf(id)).filter(({ slot }) => slot >= from);
    const slots = checks.map(({ slot }) => slot);
    expect(slots).toEqual([...new Set(slots)]);
    missing += countMissing(slots);
    latestMs = Math.max(latestMs, ...checks.map(({ slot, recordedAt }) => recordedAt - slot));
  }
  if (latestMs < INTERVAL_MS) expect(missing).toBe(0);
  await until(
    `${missing} missing slots to be counted`,
    async () => missedByKilled + (await sumOf(MISSED)) >= missing + missedBySlow,
  );
}

test('two checkers share the waves, and check and record each slot of each monitor once', async () => {
  const members = [slow, ...others, ...apart];
  await untilChecked(members, 2);
  await until('each checker to have run checks', async () => {
    const texts = await Promise.all(checkers.map((one) => one.metrics()));
    return texts.every((text) =>
      /^tocsin_check_schedule_lag_seconds_count\{region="default"\} [1-9]/m.test(text),
    );
  });
  // If one slot were requested twice, there would be more requests than events in the end.
  await until('each request to be recorded', async () => {
    const { rows } = await system.context.db.execute<{ count: number }>(
      'select count(*)::int as count from events',
    );
    return rows[0]?.count === [...target.requests.values()].reduce((sum, count) => sum + count, 0);
  });
  await expectUnbroken(members);
});

/** Waits until exactly one checker has a check under way. @returns that checker */
async function runningChecker(): Promise<ServiceProcess> {
  return until('exactly one checker to have a check under way', async () => {
    const texts = await Promise.all(checkers.map((one) => one.metrics()));
    const busy = checkers.filter((_, index) => {
      const read = (name: string): number =>
        Number(new RegExp(`^${name}_count\\{.*\\} (\\d+)$`, 'm').exec(texts[index] ?? '')?.[1] ?? 0);
      return read('tocsin_check_schedule_lag_seconds') > read('tocsin_check_duration_seconds');
    });
    return busy.length === 1 && busy[0];
  });
}

test('when a checker is killed during a wave, another one checks the members without a result', async () => {
  await edit(slow, hanging.url());
  await until('the check that hangs', () => hanging.requestCount === 1);
  const locks = `tocsin:{checks.default}:repeat:${waveId(waveOf(slow, INTERVAL))}:*:lock`;
  const [lock = ''] = (await redis.keys(locks)).toSorted();
  killedSlot = Number(/(\d+):lock$/.exec(lock)?.[1]);
  await until('the others of its wave', async () =>
    (await Promise.all(others.map(slotsOf))).every((slots) => slots.includes(killedSlot)),
  );
  const doomed = await runningChecker();
  missedByKilled = await sumOf(MISSED, [doomed]);
  await doomed.signal('SIGKILL');
  checkers = checkers.filter((one) => one !== doomed);
  // The lock expires within 10 s. On a busy machine that may be too late for the slot to be checked.
  await redis.del(lock);
  await until('the check that hangs, by the other checker', () => hanging.requestCount === 2);
});

test('a member that hangs until its timeout does not delay the checks of the others', async () => {
  const last = Math.max(...(await slotsOf(others[0] ?? '')));
  // One slot of the others and one skipped slot of `slow` are enough, and the check must not time out before that.
  await untilChecked(others, 1, last);
  await until('an overlap', async () => (await sumOf(OVERLAPS)) > 0);
  // The check still hangs: it is not recorded, and the target got no further request.
  expect(await slotsOf(slow)).not.toContain(killedSlot);
  expect(hanging.requestCount).toBe(2);
  // No result of the slot was recorded twice: the second run checked only the member that hung.
  expect(await sumOf(/^tocsin_results_dropped_total\{.*\} (\d+)$/gm)).toBe(0);

  hanging.release();
  await until('the slot of the one that hung', async () => (await slotsOf(slow)).includes(killedSlot));
  await edit(slow, target.url('/released'));
  await until('a later slot of it', async () => {
    // Its next check may have begun before the edit.
    hanging.release();
    return (await slotsOf(slow)).some((slot) => slot > killedSlot);
  });
  const slots = (await slotsOf(slow)).filter((slot) => slot >= killedSlot);
  expect(slots.filter((slot) => slot === killedSlot)).toHaveLength(1);
  missedBySlow = countMissing(slots);
  expect(missedBySlow).toBeGreaterThan(0);
  await expectUnbroken([...others, ...apart], killedSlot);
});

test('an edit takes effect at the next slot without any api', async () => {
  await api.signal('SIGKILL');
  await edit(slow, target.url('/edited'));
  const editedAt = Date.now();
  await untilChecked([slow, ...others], 2, editedAt);
  // A check that was due during the edit may have used either URL.
  const afterwards = (await slotsOf(slow)).filter((slot) => slot > editedAt).length;
  expect(target.requests.get('/edited')).toBeGreaterThanOrEqual(afterwards);
  await expectUnbroken([...others, ...apart], killedSlot);
});

test('a checker records the check under way when it stops', async () => {
  const [checker] = checkers;
  if (checker === undefined) throw new Error('no checker runs');
  const before = hanging.requestCount;
  await edit(slow, hanging.url());
  await until('a check', () => hanging.requestCount > before);
  const recorded = (await slotsOf(slow)).length;
  const ended = checker.signal('SIGTERM');
  await until('it to stop', async () => (await readFile(checker.logFile, 'utf8')).includes('"Stopping"'));
  hanging.release();
  expect(await ended).toBe(0);
  expect(await slotsOf(slow)).toHaveLength(recorded + 1);
});
