import { expect, test } from '@jest/globals';
import { splitProse } from './split-prose.ts';

test('code and links are parts of their own, everything else stays text', () => {
  const text = '`GET` it, as [the tool](https://tool.example/a) does [not](javascript:0)';
  expect(splitProse(text).map(({ text: part, isCode, href }) => [part, isCode ? 'code' : href])).toEqual([
    ['GET', 'code'],
    [' it, as ', null],
    ['the tool', 'https://tool.example/a'],
    [' does [not](javascript:0)', null],
  ]);
  expect(splitProse('')).toEqual([]);
});
