import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { describe, expect, test } from '@jest/globals';
import { parseProcSize, parseProcStat, readUsage } from './proc.ts';

/** Other systems have no `/proc`. */
const onLinux = process.platform === 'linux' ? describe : describe.skip;

describe('parseProcStat', () => {
  test('sums user and system time of the process and its ended children, in ms', () => {
    const line = '4242 (node) S 17 4242 4242 0 -1 4194304 9 8 7 6 150 50 20 3 20 0 11 0 1 2 3';
    expect(parseProcStat(line)).toEqual({ pid: 4242, parent: 17, cpuMs: 2_230 });
  });

  test('accepts parentheses in the name', () => {
    const line = '1 (a) R 99 (b)) S 17 4242 4242 0 -1 4194304 9 8 7 6 1 0 0 0 20 0';
    expect(parseProcStat(line)).toEqual({ pid: 1, parent: 17, cpuMs: 10 });
  });
});

test('parseProcSize reads a line in kB', () => {
  const text = 'VmPeak:\t  99 kB\nVmRSS:\t    1024 kB\nRssAnon:\t 1 kB\n';
  expect(parseProcSize(text, 'VmRSS')).toBe(1_048_576);
  expect(parseProcSize(text, 'Rss')).toBeNull();
});

onLinux('readUsage', () => {
  test('includes the children of a program', async () => {
    // Measured as CPU time, because a busy machine delays the process.
    const burn = 'while (process.cpuUsage().user < 150_000);';
    const parent = spawn(process.execPath, [
      '-e',
      `const child = require('node:child_process').spawn(process.execPath, ['-e', ${JSON.stringify(burn)}]);
       child.on('exit', () => { console.log('done'); setInterval(() => {}, 1000); });`,
    ]);
    try {
      await once(parent.stdout, 'data');
      const usage = readUsage(new Map([['program', parent.pid ?? 0]])).get('program');
      expect(usage?.cpuMs).toBeGreaterThanOrEqual(100);
      expect(usage?.rssBytes).toBeGreaterThan(10_000_000);
    } finally {
      parent.kill('SIGKILL');
    }
  });

  test('returns zero for a process that has ended', () => {
    const usage = readUsage(new Map([['gone', 2 ** 22 + 1]]));
    expect(usage.get('gone')).toEqual({ cpuMs: 0, rssBytes: 0 });
  });
});
