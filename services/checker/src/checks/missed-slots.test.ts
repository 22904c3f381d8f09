import { beforeEach, expect, test } from '@jest/globals';
import { Counter, Registry } from 'prom-client';
import { MissedSlots } from './missed-slots.ts';

const HALF = 100_000;

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

function skipOthers(count: number, name: string): void {
  for (let index = 0; index < count; index += 1) missed.skip(`${name}-${index}`, 60_000, 'late');
}

test('a skipped slot counts once, however many monitors have skipped slots', async () => {
  missed.skip('first', 60_000, 'late');
  skipOthers(HALF, 'other');
  missed.recorded('first', 120_000, { after: 0, slots: 1 });
  expect(await countOf('no_job')).toBe(0);
  missed.recorded('first', 240_000, { after: 120_000, slots: 1 });
  expect(await countOf('no_job')).toBe(1);
});

test('slots that were skipped before those of 200,000 other monitors are forgotten', async () => {
  missed.skip('first', 60_000, 'late');
  skipOthers(2 * HALF, 'other');
  missed.recorded('first', 120_000, { after: 0, slots: 1 });
  expect(await countOf('no_job')).toBe(1);
});

test('a monitor keeps its earlier slots when it skips another one', async () => {
  missed.skip('first', 60_000, 'late');
  skipOthers(HALF, 'other');
  missed.skip('first', 120_000, 'late');
  missed.recorded('first', 180_000, { after: 0, slots: 2 });
  expect(await countOf('no_job')).toBe(0);
});
