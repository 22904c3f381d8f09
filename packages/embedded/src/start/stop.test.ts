import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { afterEach, describe, expect, it } from '@jest/globals';

/** The built program, run as a separate process. `npm test` builds first. */
const HARNESS = fileURLToPath(new URL('../../test/stop-harness.js', import.meta.url));
let child: ChildProcess | undefined;
afterEach(() => {
  child?.kill('SIGKILL');
});

/** Acts once the program has printed `line`. @returns all lines that it printed, and its exit code */
async function run(
  behavior: string,
  line: string,
  act: (started: ChildProcess) => void,
): Promise<[string[], unknown]> {
  const started = spawn(process.execPath, [HARNESS, behavior], {
    env: { TEST_FOLDER: process.env['TEST_FOLDER'] },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  child = started;
  const lines: string[] = [];
  createInterface(started.stdout).on('line', (printed) => {
    if (printed !== '') lines.push(printed);
    if (printed === line) act(started);
  });
  const [[code]] = await Promise.all([once(started, 'exit'), once(started.stdout, 'close')]);
  return [lines, code];
}

describe('handleStop', () => {
  it('stops in reverse order, once for the two signals that npm sends for one Ctrl-C', async () => {
    const [lines, code] = await run('quick', 'running', (started) => {
      for (const signal of ['SIGINT', 'SIGINT', 'SIGTERM'] as const) started.kill(signal);
    });
    expect(lines).toEqual([
      'starting',
      'running',
      'Stopping …',
      'services stopped',
      'database stopped',
      'Stopped. The next start uses the same data.',
    ]);
    expect(code).toBe(0);
  });

  it('aborts the start on a signal', async () => {
    const [lines, code] = await run('slow', 'starting', (started) => started.kill());
    expect(lines.slice(0, 4)).toEqual(['starting', 'Stopping …', 'start was left early', 'services stopped']);
    expect(code).toBe(0);
  });

  it('stops when its output is closed', async () => {
    const [, code] = await run('writes', 'working', ({ stdout }) => stdout?.destroy());
    expect(code).toBe(1);
  });
});
