import { expect, test } from '@jest/globals';
import { findRenames } from './find-renames.ts';

/** @param text name, path and method, such as `Shop /cart POST` */
function monitor(text: string) {
  const [name = '', url = '', method = 'GET'] = text.split(' ');
  return { text, name, url, method };
}

test.each<[string, string[], string[], [string, string][]]>([
  ['the same fields', ['A /a'], ['A /a'], [['A /a', 'A /a']]],
  ['the same URL and method', ['New /a'], ['Old /a'], [['New /a', 'Old /a']]],
  ['another method', ['New /a POST'], ['Old /a'], []],
  ['the same name', ['A /new'], ['A /old'], [['A /new', 'A /old']]],
  ['nothing in common', ['B /b'], ['A /a'], []],
  ['two candidates', ['New /a'], ['Old1 /a', 'Old2 /a'], []],
  ['two new monitors', ['New1 /a', 'New2 /a'], ['Old /a'], []],
  ['a URL before a name', ['Y /x'], ['Y /y', 'X /x'], [['Y /x', 'X /x']]],
  [
    'one URL and two names',
    ['A /a', 'B /a'],
    ['B /a', 'A /a'],
    [
      ['A /a', 'A /a'],
      ['B /a', 'B /a'],
    ],
  ],
  ['a name of many', ['H /a', 'H /new'], ['H /a', 'H /b', 'H /c'], [['H /a', 'H /a']]],
])('a rename is recognized by what both monitors share: %s', (_, created, missing, expected) => {
  const renames = findRenames(created.map(monitor), missing.map(monitor));
  expect([...renames].map(([to, from]) => [to.text, from.text])).toEqual(expected);
});
