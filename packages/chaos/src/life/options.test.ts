import { expect, test } from '@jest/globals';
import { helpText, parseCommandLine } from './options.ts';

const KNOWN = {
  times: { about: 'restarts', usual: 100, least: 1, most: 1_000 },
  minutes: { about: 'how long', usual: 30, least: 0.1, most: 600, fraction: true },
} as const;

test('what is not given is as usual', () => {
  expect(parseCommandLine(['--', '--minutes', '0.5', '--json', 'a.json'], KNOWN)).toEqual({
    help: false,
    numbers: { times: 100, minutes: 0.5 },
    json: 'a.json',
  });
  expect(parseCommandLine(['-h'], KNOWN)).toMatchObject({ help: true, json: null });
});

test.each([
  [['--times', '0'], '--times must be a whole number from 1 to 1000, not "0"'],
  [['--times', '1.5'], '--times must be a whole number from 1 to 1000, not "1.5"'],
  [['--minutes', ''], '--minutes must be a number from 0.1 to 600, not ""'],
  [['--minutes', 'x'], '--minutes must be a number from 0.1 to 600, not "x"'],
  [['--nothing'], "Unknown option '--nothing'"],
  [['more'], "Unexpected argument 'more'"],
])('%j is a mistake', (args, message) => {
  expect(() => parseCommandLine(args, KNOWN)).toThrow(message);
});

test('the help names each option with its usual value', () => {
  expect(helpText('test:soak', 'About it.', KNOWN)).toMatch(/--minutes N +how long; 30 by default/);
});
