import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { PassThrough } from 'node:stream';
import { stripVTControlCharacters } from 'node:util';
import { expect, test } from '@jest/globals';
import { confirm, showProgress } from '@tocsin-monitor/cli/terminal/process-terminal';

const HIDE_CURSOR = '\u001b[?25l';
const SHOW_CURSOR = '\u001b[?25h';

/** A terminal that records its output. */
function fakeTty(): { stream: NodeJS.WriteStream; said: () => string } {
  const chunks: string[] = [];
  const commands = { cursorTo: () => true, clearLine: () => true, moveCursor: () => true };
  const write = (chunk: unknown): boolean => chunks.push(String(chunk)) > 0;
  const stream = Object.assign(new PassThrough(), commands, { write, isTTY: true, columns: 80, rows: 24 });
  return { stream: stream as unknown as NodeJS.WriteStream, said: () => chunks.join('') };
}

test('a bar shows the progress if the total is known', () => {
  const { stream, said } = fakeTty();
  const progress = showProgress(stream, 'Adopting', 40);
  progress.update('Adopting shop', 10);
  progress.stop();
  expect(said()).toContain(HIDE_CURSOR);
  expect(stripVTControlCharacters(said())).toContain('██████░░░░░░░░░░░░░░░░░░ 10/40 Adopting shop');
  expect(said().lastIndexOf(SHOW_CURSOR)).toBeGreaterThan(said().lastIndexOf(HIDE_CURSOR));
});

test.each([
  ['y\n', true],
  ['YES\n', true],
  ['\n', false],
  ['no\n', false],
  ['', false],
])('the input %j confirms: %s', async (text, answer) => {
  const input = new PassThrough();
  input.end(text);
  expect(await confirm('Do this?', input, new PassThrough(), new AbortController().signal)).toBe(answer);
});

test('a reader that stops reading ends the command with the exit code of SIGPIPE', async () => {
  const child = spawn(process.execPath, ['packages/cli/bin/tocsin.js', 'apply', '--help'], {
    env: { ...process.env, NODE_OPTIONS: '' },
    cwd: process.cwd(),
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  child.stdout.destroy();
  const [code] = (await once(child, 'close')) as [number | null];
  expect(code).toBe(141);
});
