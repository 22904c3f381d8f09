import { describe, expect, test } from '@jest/globals';
import { parseCommandLine } from './main.ts';
import { UsageError } from '@tocsin/embedded/program/run-program';

describe('parseCommandLine', () => {
  test('reads a scenario with its options', () => {
    const args = ['http-1000', '--rate', '2_000', '--queue=postgres', '--profile', '--json', 'out.json'];
    expect(parseCommandLine(args)).toMatchObject({
      scenario: 'http-1000',
      options: { rate: 2_000, queue: 'postgres', profile: 'checker', json: 'out.json' },
    });
    expect(parseCommandLine(['--profile=api', 'api']).options.profile).toBe('api');
  });

  test('returns no scenario for the help', () => {
    expect(parseCommandLine([]).scenario).toBeNull();
    expect(parseCommandLine(['http-1000', '--help']).scenario).toBeNull();
  });

  test.each([
    [['a', 'b'], 'Name one scenario only. Unexpected: b'],
    [['a', '--rate', 'fast'], '--rate must be a whole number from 1, not "fast"'],
    [['a', '--rate', '0'], '--rate must be a whole number from 1, not "0"'],
    [['a', '--queue', 'kafka'], '--queue must be one of redis, postgres, not "kafka"'],
  ])('rejects %j', (args, message) => {
    expect(() => parseCommandLine(args)).toThrow(new UsageError(message));
  });
});
