import { expect, test } from '@jest/globals';
import { UsageError } from '@tocsin/embedded/program/run-program';
import { parseOptions } from '@tocsin/lab/options';
import { OPTIONS, seedsOf } from './main.ts';

test('a fault campaign runs one seed or a range of seeds', () => {
  const seeds = (...args: string[]): readonly number[] => seedsOf(parseOptions(args, OPTIONS).values);
  expect(seeds()).toEqual([1]);
  expect(seeds('--', '--seed', '7', '--minutes', '2', '--json=out.json', '--keep')).toEqual([7]);
  expect(seeds('--seeds', '3-6')).toEqual([3, 4, 5, 6]);
  for (const args of ['--seed 1 --seeds 1-2', '--seeds 6-3', '--seeds 5', '--seed x', '--parallel 9'])
    expect(() => seeds(...args.split(' '))).toThrow(UsageError);
});
