import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { afterEach, describe, expect, it } from '@jest/globals';

/** The built program, run as a separate process. `npm test` builds first. */
const HARNESS = fileURLToPath(new URL('../../test/stop-harness.js', import.meta.url));
let child: ChildProcess | undefined;
afterEach(() => {
  child?.kill('SIGKILL');
});

/** Sends the signals once it has printed `line`. @returns all lines that it printed, and its exit code */
async function run(
  behavior: string,
  line: string,
  signals: readonly NodeJS.Signals[],
): Promise<[string[], unknown]> {
  const started = spawn(process.execPath, [HARNESS, behavior], {
    env: { TEST_FOLDER: process.env['TEST_FOLDER'] },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  child = started;
  let output = '';
  let signalled = false;
  started.stdout.on('data', (chunk) => {
    output += String(chunk);
    if (signalled || !output.includes(line)) return;
    signalled = true;
    for (const signal of signals) started.kill(signal);
  });
  const [[code]] = await Promise.all([once(started, 'exit'), once(started.stdout, 'end')]);
  return [output.split('\n').filter((each) => each !== ''), code];
}

describe('handleStop', () => {
  it('stops in reverse order, once for the two signals that npm sends for one Ctrl-C', async () => {
    const [lines, code] = await run('quick', 'running', ['SIGINT', 'SIGINT', 'SIGTERM']);
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
    const [lines, code] = await run('slow', 'starting', ['SIGTERM']);
    expect(lines.slice(0, 4)).toEqual(['starting', 'Stopping …', 'start was left early', 'services stopped']);
    expect(code).toBe(0);
  });

  it('stops when its output is closed', async () => {
    const started = spawn(process.execPath, [HARNESS, 'writes'], {
      env: { TEST_FOLDER: process.env['TEST_FOLDER'] },
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    child = started;
    await once(started.stdout, 'data');
    started.stdout.destroy();
    expect(await once(started, 'exit')).toEqual([1, null]);
  });
});
