import { beforeEach, expect, test } from '@jest/globals';
import { Counter, Registry } from 'prom-client';
import { MissedSlots } from './missed-slots.ts';

const REMEMBERED = 200_000;

let missed: MissedSlots;
let counter: Counter<'region' | 'reason'>;
beforeEach(() => {
  const labelNames = ['region', 'reason'] as const;
  counter = new Counter({ name: 'missed', help: 'missed', labelNames, registers: [new Registry()] });
  missed = new MissedSlots('test', counter);
});

async function countOf(reason: string): Promise<number> {
  const { values } = await counter.get();
  return values.find(({ labels }) => labels.reason === reason)?.value ?? 0;
}

function skipAll(monitors: number, slot: number): void {
  for (let index = 0; index < monitors; index += 1) missed.skip(`monitor-${index}`, slot, 'late');
}

test('a skipped slot of each of 200,000 monitors counts once, even after further slots were skipped', async () => {
  for (const slot of [60_000, 120_000]) skipAll(REMEMBERED, slot);
  for (const monitor of [0, REMEMBERED / 2, REMEMBERED - 1])
    missed.recorded(`monitor-${monitor}`, 180_000, { after: 0, slots: 2 });
  expect(await countOf('no_job')).toBe(0);
});

test('a gap counts if no skipped slot explains it', async () => {
  missed.skip('monitor', 60_000, 'late');
  missed.recorded('monitor', 120_000, { after: 0, slots: 1 });
  missed.recorded('monitor', 240_000, { after: 120_000, slots: 1 });
  expect(await countOf('no_job')).toBe(1);
});

test('a slot skipped before an older gap does not explain a later one', async () => {
  missed.skip('monitor', 60_000, 'late');
  missed.recorded('monitor', 360_000, { after: 180_000, slots: 2 });
  expect(await countOf('no_job')).toBe(2);
});

test('slots before the first agent connected, or while one is silent, count as such, unless their check was skipped for another reason', async () => {
  let isSilent = false;
  missed = new MissedSlots('test', counter, { since: 240_000, hasSilent: () => isSilent });
  missed.skip('late', 180_000, 'late');
  missed.skip('late', 240_000, 'late');
  missed.skip('throttled', 180_000, 'throttled');
  missed.skip('overlap', 240_000, 'overlap');
  isSilent = true;
  missed.skip('overlap', 300_000, 'overlap');
  missed.recorded('throttled', 300_000, { after: 120_000, slots: 2 });
  const reasons = ['late', 'throttled', 'overlap', 'agent_disconnected', 'no_job'];
  expect(await Promise.all(reasons.map(countOf))).toEqual([1, 1, 1, 3, 0]);
  missed.recorded('later', 360_000, { after: 180_000, slots: 2 });
  expect(await countOf('no_job')).toBe(2);
});

test('slots that were skipped before those of 400,000 other monitors are forgotten', async () => {
  missed.skip('first', 60_000, 'late');
  skipAll(2 * REMEMBERED, 60_000);
  missed.recorded('first', 120_000, { after: 0, slots: 1 });
  expect(await countOf('no_job')).toBe(1);
});
