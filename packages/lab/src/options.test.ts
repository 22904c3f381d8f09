import { expect, test } from '@jest/globals';
import { UsageError } from '@tocsin/embedded/program/run-program';
import { flag, number, oneOf, parseOptions, refusePositionals, text } from './options.ts';

const KNOWN = {
  times: number('restarts', 100, { min: 1, max: 1_000 }),
  minutes: number('how long', 30, { min: 0.1, max: 600, fraction: true }),
  rate: number('checks a second', null, { min: 1 }),
  queue: oneOf('the store of the queue', ['redis', 'postgres']),
  json: text('writes the result', 'FILE'),
  keep: flag('keeps the logs'),
};
const DEFAULTS = { times: 100, minutes: 30, rate: null, queue: null, json: null, keep: false };

test('reads options of each kind and positionals', () => {
  const args = 'a --minutes 0.5 --rate 2_000 --queue=postgres --json a.json --keep -h'.split(' ');
  const given = { minutes: 0.5, rate: 2_000, queue: 'postgres', json: 'a.json', keep: true };
  expect(parseOptions(args, KNOWN)).toEqual({
    help: true,
    values: { ...DEFAULTS, ...given },
    positionals: ['a'],
  });
});

test.each([
  [['--times', '0'], '--times must be a whole number from 1 to 1000, not "0"'],
  [['--times', '1.5'], '--times must be a whole number from 1 to 1000, not "1.5"'],
  [['--minutes', ''], '--minutes must be a number from 0.1 to 600, not ""'],
  [['--minutes', 'x'], '--minutes must be a number from 0.1 to 600, not "x"'],
  [['--rate', '0'], '--rate must be a whole number from 1, not "0"'],
  [['--queue', 'kafka'], '--queue must be one of redis, postgres, not "kafka"'],
  [['--nothing'], "Unknown option '--nothing'"],
])('refuses %j', (args, message) => {
  expect(() => parseOptions(args, KNOWN)).toThrow(UsageError);
  expect(() => parseOptions(args, KNOWN)).toThrow(message);
});

test('refuses positionals for a command without them', () => {
  expect(() => refusePositionals(['more'])).toThrow(new UsageError("Unexpected argument 'more'"));
});
