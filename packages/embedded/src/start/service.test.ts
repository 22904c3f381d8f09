import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { EmbeddedError } from '../embedded-error.ts';
import { isRunning } from '../processes.ts';
import { createTemporaryFolder } from '../testing/temporary-folder.ts';
import { until } from '../testing/until.ts';
import { LogFile, Service, terminalLine } from './service.ts';

const ENTRY = fileURLToPath(new URL('../../test/fixture-service.js', import.meta.url));

let folder: Awaited<ReturnType<typeof createTemporaryFolder>>;
let logPath: string;
let said: string[];
/** Called right after a line is shown. */
let onSaid: () => void;
let service: Service | undefined;

beforeEach(async () => {
  folder = await createTemporaryFolder();
  logPath = join(folder.path, 'fixture.log');
  said = [];
  onSaid = () => undefined;
});
afterEach(async () => {
  jest.useRealTimers();
  await service?.stop();
  await folder.remove();
});

function create(behavior: string): Service {
  service = new Service({
    name: 'fixture',
    entry: ENTRY,
    env: { FIXTURE: behavior },
    log: new LogFile(logPath),
    say: (line) => {
      said.push(line);
      onSaid();
    },
    backoffMs: 20,
  });
  return service;
}

function pids(): number[] {
  return [...readFileSync(logPath, 'utf8').matchAll(/process (\d+)/g)].map((match) => Number(match[1]));
}

describe('Service', () => {
  it('is up when it reports ready, runs in the current folder, and ends when stopped', async () => {
    const running = create('works');
    await running.start();
    // Relative paths in settings resolve the same way.
    const line = JSON.stringify(`folder ${process.cwd()}`);
    await until('it has logged its folder', () => readFileSync(logPath, 'utf8').includes(line));
    const [pid = 0] = pids();
    expect(isRunning(pid)).toBe(true);
    await running.stop();
    expect(isRunning(pid)).toBe(false);
    expect(said).toEqual([]);
  });

  it('restarts after an unexpected exit with increasing delays, and reports it', async () => {
    await create('works').start();
    for (const round of [1, 2]) {
      await until(`process ${round} is up`, () => pids().length === round);
      process.kill(pids().at(-1) ?? 0, 'SIGKILL');
    }
    await until('process 3 is up', () => pids().length === 3);
    expect(said).toEqual([
      `fixture was terminated by SIGKILL. Restarting it in 0.02 s (see ${logPath})`,
      `fixture was terminated by SIGKILL. Restarting it in 0.04 s (see ${logPath})`,
    ]);
  });

  it('does not restart after it is stopped', async () => {
    const running = create('works');
    await running.start();
    await until('the first process is up', () => pids().length === 1);
    jest.useFakeTimers({ doNotFake: ['setImmediate', 'nextTick', 'queueMicrotask'] });
    // The stop comes between the exit and the restart.
    const stopped = new Promise<void>((resolve) => {
      onSaid = () => setImmediate(() => resolve(running.stop()));
    });
    process.kill(pids()[0] ?? 0, 'SIGKILL');
    await stopped;
    expect(jest.getTimerCount()).toBe(0);
    expect(pids()).toHaveLength(1);
  });

  it('fails if it ends before it is up, and shows its output', async () => {
    const start = create('fails').start();
    await expect(start).rejects.toThrow(EmbeddedError);
    await expect(start).rejects.toThrow(`fixture exited with code 1 during startup. See ${logPath}.`);
    await until('the error is shown', () => said.length > 0);
    expect(said).toEqual(['fixture: PORT must be right']);
  });
});

describe('terminalLine', () => {
  it.each([
    [{ level: 'info', message: 'Checked' }, null],
    [{ level: 'warn', message: 'Slow' }, 'warn: Slow'],
    [{ level: 'error', message: 'Lost', error: { message: 'gone\nmore' } }, 'error: Lost (gone)'],
    [{ level: 'error', message: 'Lost', error: { message: '', code: 'E' } }, 'error: Lost (E)'],
    [{ level: 'error', message: 'Lost', error: 'gone' }, 'error: Lost (gone)'],
    [{ level: 'warn', message: 'Attempt', channelId: 'c', error: '404' }, 'warn: Attempt (channel c: 404)'],
  ])('of %j is %s', (record, expected) => {
    expect(terminalLine(JSON.stringify(record))).toBe(expected);
  });

  it('keeps lines that are not log records', () => {
    expect(terminalLine('PORT must be right')).toBe('PORT must be right');
    expect(terminalLine('  ')).toBeNull();
  });
});
