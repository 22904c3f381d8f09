import { expect, test } from '@jest/globals';
import { Checkpoint } from './checkpoint.ts';

test('an awaited visit is held until it is released, and others pass', async () => {
  const checkpoint = new Checkpoint<string>();
  const awaited = checkpoint.next((visit) => visit === 'b', 600_000);
  await checkpoint.pass('a');
  let passed = false;
  const passing = checkpoint.pass('b').then(() => (passed = true));
  const held = await awaited;
  expect([held?.visit, passed]).toEqual(['b', false]);
  await checkpoint.pass('b');
  held?.release();
  await passing;
});

test('a wait that times out returns null and holds no later visit', async () => {
  const checkpoint = new Checkpoint<string>();
  expect(await checkpoint.next(() => true, 1)).toBeNull();
  await checkpoint.pass('late');
});
