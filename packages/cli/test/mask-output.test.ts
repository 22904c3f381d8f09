import { expect, test } from '@jest/globals';
import { maskUrls } from '@tocsin-monitor/cli/terminal/mask-output';
import { fakeTerminal } from './fake-terminal.ts';

test.each([
  ['https://me:hush@a.example/x?token=hush#hush', 'https://***@a.example/x?***'],
  ['"https://a.example/?hush" and tcp://b.example:1', '"https://a.example/?***" and tcp://b.example:1'],
  ['${BASE}/x?token=hush', '${BASE}/x?***'],
  ['${SCHEME}://me:hush@a.example#hush', '${SCHEME}://***@a.example?***'],
  ['https://a.example/. Is it reachable?', 'https://a.example/. Is it reachable?'],
])('%s is shown as %s', (text, shown) => {
  expect(maskUrls(text)).toBe(shown);
});

test('a hidden value is masked in everything that is written, in every form', async () => {
  const terminal = fakeTerminal('/', { answer: true });
  const value = 'Hush "a/b"\nsecond line';
  terminal.hide('WORD', value);
  terminal.hide('LONG', 'Hush "a/b" and more');
  terminal.hide('SHORT', 'short');
  terminal.print(`x${value}x Hush "a/b" and more ${encodeURIComponent('Hush "a/b"')} hush "a/b" short`);
  terminal.note('second line of https://a.example/?secret');
  terminal.printJson({ 'second line': [value, 'xHush "a/b"'] });
  terminal.noteJson({ message: value });
  await terminal.confirm('second line?');
  expect([...terminal.printed, ...terminal.notes, ...terminal.questions]).toEqual([
    'x${WORD}x ${LONG} ${WORD} ${WORD} short',
    '{"second line":["${WORD}","x${WORD}"]}',
    '${WORD} of https://a.example/?***',
    '{"message":"${WORD}"}',
    '${WORD}?',
  ]);
});
