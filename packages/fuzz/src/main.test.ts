import { expect, test } from '@jest/globals';
import { parseCommandLine } from './main.ts';

test('the options have defaults, and numbers may have separators', () => {
  expect(parseCommandLine(['--', '--requests', '5_000', '--seed', '3', '--path', '1:2'])).toEqual({
    requests: 5_000,
    seconds: 86_400,
    seed: 3,
    lanes: 3,
    path: '1:2',
    all: false,
  });
  expect(parseCommandLine([])).toMatchObject({ requests: 100_000, seed: expect.any(Number), path: null });
  expect(parseCommandLine(['--help'])).toBeNull();
});

test.each([
  [['--seed', '0'], '--seed must be a whole number from 1, not "0"'],
  [['--requests', 'many'], '--requests must be a whole number from 1, not "many"'],
  [['--nothing'], "Unknown option '--nothing'"],
])('%j is refused', (args, message) => {
  expect(() => parseCommandLine(args)).toThrow(message);
});
