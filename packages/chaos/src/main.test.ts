import { describe, expect, test } from '@jest/globals';
import { UsageError } from '@tocsin/embedded/program/run-program';
import { parseOptions } from '@tocsin/lab/options';
import { OPTIONS, seedsOf } from './main.ts';

describe('the command line of test:faults', () => {
  const parse = (args: readonly string[]): object => {
    const { values } = parseOptions(args, OPTIONS);
    return { ...values, seeds: seedsOf(values) };
  };

  test('reads the options of a campaign', () => {
    expect(parse(['--', '--seed', '7', '--minutes', '2', '--json=out.json', '--keep'])).toEqual({
      seed: 7,
      seeds: [7],
      minutes: 2,
      parallel: 1,
      json: 'out.json',
      keep: true,
      'print-schedule': false,
    });
  });

  test('defaults to seed 1 for three minutes', () => {
    expect(parse([])).toMatchObject({ seeds: [1], minutes: 3, parallel: 1, json: null });
  });

  test('reads a range of seeds', () => {
    expect(parse(['--seeds', '3-6', '--parallel', '2'])).toMatchObject({ seeds: [3, 4, 5, 6], parallel: 2 });
  });

  test.each([
    [['--seed', '1', '--seeds', '1-2'], 'Use either --seed or --seeds'],
    [['--seed', 'x'], '--seed must be a whole number from 1 to 2147483648, not "x"'],
    [['--minutes', '0'], '--minutes must be a whole number from 1 to 60, not "0"'],
    [['--parallel', '9'], '--parallel must be a whole number from 1 to 8, not "9"'],
    [['--seeds', '6-3'], '--seeds must be a range such as 1-30, not "6-3"'],
    [['--seeds', '5'], '--seeds must be a range such as 1-30, not "5"'],
  ])('refuses %j', (args, message) => {
    expect(() => parse(args)).toThrow(new UsageError(message));
  });
});
