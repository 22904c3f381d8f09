import { PassThrough } from 'node:stream';
import { stripVTControlCharacters } from 'node:util';
import { expect, test } from '@jest/globals';
import { confirm, hasColors, showProgress } from '@tocsin-monitor/cli/terminal/process-terminal';

test('a bar shows the progress if the total is known, and restores the cursor', () => {
  let said = '';
  const commands = { cursorTo: () => true, clearLine: () => true, moveCursor: () => true };
  const write = (chunk: unknown): boolean => (said += String(chunk)).length > 0;
  const stream = Object.assign(new PassThrough(), commands, { write, isTTY: true, columns: 80, rows: 24 });
  const progress = showProgress(stream as unknown as NodeJS.WriteStream, 'Adopting', 40);
  progress.update('Adopting shop', 10);
  progress.stop();
  expect(stripVTControlCharacters(said)).toContain('10/40 Adopting shop');
  expect(said.lastIndexOf('\u001b[?25h')).toBeGreaterThan(said.lastIndexOf('\u001b[?25l'));
});

test.each([
  ['y\n', true],
  ['YES\n', true],
  ['\n', false],
  ['', false],
])('the input %j confirms: %s', async (text, answer) => {
  const input = new PassThrough();
  input.end(text);
  expect(await confirm('Do this?', input, new PassThrough(), new AbortController().signal)).toBe(answer);
});

test.each([
  [true, {}, true],
  // A file or pipe.
  [undefined, { CI: 'true', TERM: 'xterm' }, false],
  [true, { NO_COLOR: '1' }, false],
  [true, { TERM: 'dumb' }, false],
  [undefined, { FORCE_COLOR: '1', NO_COLOR: '1' }, true],
  [true, { FORCE_COLOR: '0' }, false],
  [true, { FORCE_COLOR: '', NO_COLOR: '' }, true],
])('with isTTY %s and %j, a stream has colors: %s', (isTTY, env, expected) => {
  expect(hasColors({ isTTY } as Pick<NodeJS.WriteStream, 'isTTY'>, env)).toBe(expected);
});
