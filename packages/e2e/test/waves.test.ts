import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { createMonitorSchema } from '@tocsin/contracts/monitor';
import { waveId, waveOf } from '@tocsin/core/schedule/wave';
import { createMonitor } from '@tocsin/db/monitors/create-monitor';
import { deleteMonitor } from '@tocsin/db/monitors/delete-monitor';
import { updateMonitor } from '@tocsin/db/monitors/update-monitor';
import { createSystem, type System } from '@tocsin/e2e/system';
import { until } from '@tocsin/embedded/testing/until';
import { HttpTarget } from '@tocsin/embedded/local-web/http-target';

const INTERVAL = 5;
const MOST_TRIED = 2_000;

let target: HttpTarget;
let hanging: HttpTarget;
let system: System;

beforeEach(async () => {
  [target, hanging] = await Promise.all([HttpTarget.start(), HttpTarget.start()]);
  hanging.hangs = true;
  system = await createSystem({ queue: 'redis', receiverCa: '-----BEGIN CERTIFICATE-----' });
});
afterEach(async () => {
  await system.close();
  await Promise.all([target.stop(), hanging.stop()]);
});

/** Monitors of one wave, each with a path of its own, checked every five seconds; there before any service runs. */
async function createWave(count: number): Promise<string[]> {
  const { context } = system;
  const byWave = new Map<string, string[]>();
  let members: string[] = [];
  for (let tried = 0; tried < MOST_TRIED && members.length < count; tried += 1) {
    const fields = { name: 'Member', url: target.url(`/${tried}`), interval: INTERVAL, timeout: 2 };
    const input = createMonitorSchema.parse(fields);
    const { id } = (await createMonitor(context, context.accountId, input, 'default')).monitor;
    const wave = waveId(waveOf(id, INTERVAL));
    members = [...(byWave.get(wave) ?? []), id];
    byWave.set(wave, members);
  }
  expect(members).toHaveLength(count);
  for (const id of [...byWave.values()].flat()) {
    if (!members.includes(id)) await deleteMonitor(context.db, context.accountId, id);
  }
  return members;
}

async function edit(id: string, fields: Record<string, unknown>): Promise<void> {
  await updateMonitor(system.context, system.context.accountId, id, fields, 'default');
}

/** The planned slots of a monitor of which something is recorded, epoch milliseconds; one twice where it is recorded twice. */
async function slotsOf(id: string): Promise<number[]> {
  const { rows } = await system.context.db.execute<{ slot: number }>(
    `select (extract(epoch from slot) * 1000)::float8 as slot
     from events where monitor_id = '${id}' and slot is not null order by slot`,
  );
  const { phaseMs } = waveOf(id, INTERVAL);
  return rows.map(({ slot }) => slot).filter((slot) => slot % (INTERVAL * 1_000) === phaseMs);
}

/** Waits until each of them has so many planned checks. */
async function untilChecked(ids: readonly string[], times: number): Promise<void> {
  await until(
    `${times} planned checks of each`,
    async () => (await Promise.all(ids.map(slotsOf))).every((slots) => slots.length >= times),
    40_000,
  );
}

/** Every slot from the first to the last, once. */
function expectUnbroken(slots: readonly number[]): void {
  const first = slots[0] ?? 0;
  expect(slots).toEqual(slots.map((_, index) => first + index * INTERVAL * 1_000));
}

test('a member that hangs until its timeout does not delay the checks of the others', async () => {
  const members = await createWave(4);
  const [slow = '', ...others] = members;
  await Promise.all([system.service('api').start(), system.service('checker').start()]);
  await untilChecked(members, 1);
  await edit(slow, { url: hanging.url(), timeout: 60 });
  await until('the check that hangs', () => hanging.requests.size > 0);
  const before = await slotsOf(slow);
  const [times = 0] = (await Promise.all(others.map(slotsOf))).map((slots) => slots.length);
  await untilChecked(others, times + 3);
  // All of that while it hangs: nothing was recorded of it, and it was not asked again.
  expect(await slotsOf(slow)).toEqual(before);
  expect([...hanging.requests.values()]).toEqual([1]);
  for (const id of others) expectUnbroken(await slotsOf(id));
}, 90_000);

test('a checker that is killed in the middle of a wave: the slot of each member is recorded once, and those after it of all but the one that hung', async () => {
  // So long that checks of a job that runs again, within 10 s, would still run when the second slot after it is due.
  target.delayMs = 1_000;
  const members = await createWave(4);
  const [slow = '', ...others] = members;
  const doomed = system.service('checker');
  await Promise.all([system.service('api').start(), doomed.start()]);
  await untilChecked(members, 1);
  await edit(slow, { url: hanging.url(), timeout: 60 });
  await until('the check that hangs', () => hanging.requests.size > 0);
  const slot = ((await slotsOf(slow)).at(-1) ?? 0) + INTERVAL * 1_000;
  await until('the others of its wave', async () =>
    (await Promise.all(others.map(slotsOf))).every((slots) => slots.includes(slot)),
  );
  await doomed.signal('SIGKILL');
  hanging.hangs = false;
  await system.service('checker').start();
  await until('the slot of the one that hung', async () => (await slotsOf(slow)).includes(slot), 15_000);
  const times = (await slotsOf(others[0] ?? '')).length;
  await untilChecked(others, times + 2);
  for (const id of others) expectUnbroken(await slotsOf(id));
  expect((await slotsOf(slow)).filter((one) => one === slot)).toHaveLength(1);
}, 90_000);

test('two checkers share the waves: each slot of each monitor is recorded once, and asked for once', async () => {
  const members = [...(await createWave(2)), ...(await createWave(2)), ...(await createWave(2))];
  const checkers = [system.service('checker'), system.service('checker')];
  const [, ...ports] = await Promise.all([
    system.service('api').start(),
    ...checkers.map(async (checker) => Number((await checker.start())['healthPort'])),
  ]);
  await untilChecked(members, 3);
  const shares = async (): Promise<boolean> => {
    const texts = await Promise.all(
      ports.map(async (port) => (await fetch(`http://127.0.0.1:${port}/metrics`)).text()),
    );
    return texts.every((text) =>
      /^tocsin_check_schedule_lag_seconds_count\{region="default"\} [1-9]/m.test(text),
    );
  };
  await until('each of them to have done some', shares, 60_000);
  for (const checker of checkers) expect(await checker.signal('SIGTERM')).toBe(0);
  for (const id of members) expectUnbroken(await slotsOf(id));
  const { rows } = await system.context.db.execute<{ count: number }>(
    'select count(*)::int as count from events',
  );
  const asked = [...target.requests.values()].reduce((sum, count) => sum + count, 0);
  expect(asked).toBe(rows[0]?.count);
}, 120_000);

test('an edit counts from the next slot on, without any api', async () => {
  const members = await createWave(3);
  const [edited = '', ...others] = members;
  const api = system.service('api');
  await Promise.all([api.start(), system.service('checker').start()]);
  await untilChecked(members, 1);
  await api.signal('SIGKILL');
  hanging.hangs = false;
  await edit(edited, { url: hanging.url('/edited') });
  const editedAt = Date.now();
  await untilChecked(members, 4);
  const slots = await slotsOf(edited);
  // One that was due while it was edited may have been either.
  const afterwards = slots.filter((slot) => slot > editedAt).length;
  expect(afterwards).toBeGreaterThan(0);
  expect(hanging.requests.get('/edited')).toBeGreaterThanOrEqual(afterwards);
  for (const id of others) expectUnbroken(await slotsOf(id));
}, 90_000);
