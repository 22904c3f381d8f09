import { readFile } from 'node:fs/promises';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { createMonitorSchema } from '@tocsin/contracts/monitors/monitor';
import { waveId, waveOf } from '@tocsin/core/schedule/slots';
import { systemActor } from '@tocsin/db/audit-log/actor';
import { insertMonitors } from '@tocsin/db/monitors/create-monitors';
import { deleteMonitor } from '@tocsin/db/monitors/delete-monitors';
import { updateMonitor } from '@tocsin/db/monitors/update-monitors';
import { HttpTarget } from '@tocsin/embedded/local-web/http-target';
import { until } from '@tocsin/embedded/testing/until';
import type { ServiceProcess } from '@tocsin/lab/service-process';
import { createSystem, type System } from '@tocsin/lab/system';
import { Redis } from 'ioredis';

const INTERVAL = 5;
const INTERVAL_MS = INTERVAL * 1_000;
/** This is the longest timeout, so a check of a target that responds does not time out, even on a busy machine. */
const TIMEOUT = 60;
const MEMBERS = 3;
const MAX_TRIED = 2_000;
const TRIED_AT_ONCE = 20;
const OVERLAPS = /^tocsin_checks_missed_total\{.*reason="overlap"\} (\d+)$/m;
const STARTED = /^tocsin_check_schedule_lag_seconds_count\{region="default"\} (\d+)$/m;
const ENDED = /^tocsin_check_duration_seconds_count\{region="default"\} (\d+)$/m;

let target: HttpTarget;
let hanging: HttpTarget;
let system: System;
let redis: Redis;
let api: ServiceProcess;
/** Running checkers. */
let checkers: ServiceProcess[];
/** Monitors in one wave. */
let slow: string;
let others: string[];
/** A monitor in another wave. */
let apart: string;

beforeAll(async () => {
  [target, hanging] = await Promise.all([HttpTarget.start(), HttpTarget.start({ hangs: true })]);
  system = await createSystem({ queue: 'redis', receiverCa: '' });
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

/** Creates several monitors in one wave and one in another, before any service runs. Ids are random, so it takes several attempts. */
async function createWaves(): Promise<[string[], string]> {
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
  const [other = ''] = [...byWave.values()].find((ids) => !ids.includes(members[0] ?? '')) ?? [];
  for (const id of [...byWave.values()].flat()) {
    if (!members.includes(id) && id !== other)
      await deleteMonitor(context.db, systemActor(context.accountId), id);
  }
  return [members, other];
}

async function edit(id: string, url: string): Promise<void> {
  await updateMonitor(system.context, systemActor(system.context.accountId), id, { url }, 'default');
}

/** Returns the recorded slots of a monitor's planned checks, in epoch milliseconds. A slot that is recorded twice appears twice. */
async function slotsOf(id: string): Promise<number[]> {
  const { rows } = await system.context.db.execute<{ slot: number }>(
    `select (extract(epoch from slot) * 1000)::float8 as slot
     from events where monitor_id = '${id}' and slot is not null order by slot`,
  );
  const { offsetMs } = waveOf(id, INTERVAL);
  return rows.map(({ slot }) => slot).filter((slot) => slot % INTERVAL_MS === offsetMs);
}

/** Waits until each monitor has this many planned checks of slots after `after`. */
async function untilChecked(ids: readonly string[], times: number, after = 0): Promise<void> {
  await until(`${times} planned checks of each`, async () => {
    const slots = await Promise.all(ids.map(slotsOf));
    return slots.every((each) => each.filter((slot) => slot > after).length >= times);
  });
}

/** Returns the value of a metric series from each running checker. */
async function readMetrics(series: RegExp): Promise<number[]> {
  const texts = await Promise.all(checkers.map((one) => one.metrics()));
  return texts.map((text) => Number(series.exec(text)?.[1] ?? 0));
}

test('two checkers share the waves and check every slot of every monitor once, even after Redis is flushed', async () => {
  const members = [slow, ...others, apart];
  await untilChecked(members, 1);
  await redis.flushdb();
  await untilChecked(members, 2, Date.now());
  await until('each checker to have run checks', async () => (await readMetrics(STARTED)).every(Boolean));
  // If one slot were requested twice, there would be more requests than events in the end.
  await until('each request to be recorded', async () => {
    const { rows } = await system.context.db.execute<{ count: number }>(
      'select count(*)::int as count from events',
    );
    return rows[0]?.count === [...target.requests.values()].reduce((sum, count) => sum + count, 0);
  });
  for (const id of members) {
    const slots = await slotsOf(id);
    expect(slots).toEqual([...new Set(slots)]);
  }
});

test('when a checker is killed during a wave, another one checks only the member without a result, which delays no others', async () => {
  await edit(slow, hanging.url());
  await until('the check that hangs', () => hanging.requestCount === 1);
  const locks = `tocsin:{checks.default}:repeat:${waveId(waveOf(slow, INTERVAL))}:*:lock`;
  const [lock = ''] = (await redis.keys(locks)).toSorted();
  const slot = Number(/(\d+):lock$/.exec(lock)?.[1]);
  await until('the others of its wave', async () =>
    (await Promise.all(others.map(slotsOf))).every((slots) => slots.includes(slot)),
  );
  const doomed = await until('exactly one checker to have a check under way', async () => {
    const [started, ended] = [await readMetrics(STARTED), await readMetrics(ENDED)];
    const busy = checkers.filter((_, index) => (started[index] ?? 0) > (ended[index] ?? 0));
    return busy.length === 1 && busy[0];
  });
  await doomed.signal('SIGKILL');
  checkers = checkers.filter((one) => one !== doomed);
  // The lock expires within 10 s. On a busy machine that may be too late for the slot to be checked.
  await redis.del(lock);
  await until('the check that hangs, by the other checker', () => hanging.requestCount === 2);

  await untilChecked(others, 1, Date.now());
  await until('an overlap', async () => (await readMetrics(OVERLAPS)).some(Boolean));
  // The check still hangs, so it is not recorded, and the target got no further request.
  expect(await slotsOf(slow)).not.toContain(slot);
  expect(hanging.requestCount).toBe(2);
  expect(await readMetrics(/^tocsin_results_dropped_total\{.*\} ([1-9]\d*)$/m)).toEqual([0]);
  hanging.release();
  await until('the slot of the one that hung', async () => (await slotsOf(slow)).includes(slot));
});

test('an edit takes effect at the next slot without any api, and a checker that stops records its check', async () => {
  await api.signal('SIGKILL');
  await edit(slow, target.url('/edited'));
  await until('a check of the new URL', () => {
    // The monitor's next check may have begun before the edit.
    hanging.release();
    return (target.requests.get('/edited') ?? 0) > 0;
  });

  const before = hanging.requestCount;
  await edit(slow, hanging.url());
  await until('a check that hangs', () => hanging.requestCount > before);
  const recorded = (await slotsOf(slow)).length;
  const [checker] = checkers;
  const ended = checker?.signal('SIGTERM');
  await until('it to stop', async () =>
    (await readFile(checker?.logFile ?? '', 'utf8')).includes('"Stopping"'),
  );
  hanging.release();
  expect(await ended).toBe(0);
  expect(await slotsOf(slow)).toHaveLength(recorded + 1);
});
