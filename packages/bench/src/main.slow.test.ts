import { expect, test } from '@jest/globals';
import { UsageError } from '@tocsin/embedded/program/run-program';
import { parseCommandLine } from './main.ts';

test('the command line names one scenario with its options, or none for the help', () => {
  const parse = (line: string): object => parseCommandLine(line.split(' '));
  expect(parse('http-1000 --rate 2_000 --queue=postgres --profile --json out.json')).toMatchObject({
    scenario: 'http-1000',
    options: { rate: 2_000, queue: 'postgres', profile: 'checker', json: 'out.json' },
  });
  expect(parseCommandLine([]).scenario).toBeNull();
  expect(parse('http-1000 --help')).toMatchObject({ scenario: null });
  for (const line of ['a b', 'a --rate 0', 'a --queue kafka']) expect(() => parse(line)).toThrow(UsageError);
});
