import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import type { Readable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { afterEach, describe, expect, it } from '@jest/globals';
import { until } from './testing/until.ts';

/** The built service, run as a separate process. `npm test` builds first. */
const HARNESS = fileURLToPath(new URL('../test/service-harness.js', import.meta.url));
type Child = ChildProcess & { readonly stdout: Readable; readonly stderr: Readable };
const children: Child[] = [];

afterEach(() => {
  for (const child of children.splice(0)) child.kill('SIGKILL');
});

interface Run {
  readonly child: Child;
  readonly output: { stdout: string; stderr: string };
  readonly exit: Promise<number | null>;
}

function run(behavior: string, env: Record<string, string> = {}): Run {
  const child = spawn(process.execPath, [HARNESS, behavior], {
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
    env: { PATH: process.env['PATH'], ...env },
  }) as Child;
  children.push(child);
  const output = { stdout: '', stderr: '' };
  child.stdout.on('data', (chunk) => (output.stdout += String(chunk)));
  child.stderr.on('data', (chunk) => (output.stderr += String(chunk)));
  const exit = Promise.all([once(child, 'exit'), once(child.stdout, 'end'), once(child.stderr, 'end')]).then(
    ([[code]]) => (typeof code === 'number' ? code : null),
  );
  return { child, output, exit };
}

async function ready(service: Run): Promise<unknown> {
  const [message] = await once(service.child, 'message');
  return message;
}

describe('runService', () => {
  it('reports ready and stops once on SIGTERM, with exit code 0', async () => {
    const service = run('well');
    expect(await ready(service)).toEqual({ type: 'ready', port: 4242 });
    service.child.kill('SIGTERM');
    service.child.kill('SIGINT');
    expect(await service.exit).toBe(0);
    expect(service.output.stdout.match(/stop called/g)).toHaveLength(1);
  });

  it('stops when its parent ends', async () => {
    const service = run('well');
    await ready(service);
    service.child.disconnect();
    expect(await service.exit).toBe(0);
    expect(service.output.stdout).toMatch(/stop called/);
  });

  it('stops after an uncaught exception or an unhandled rejection, with exit code 1', async () => {
    const services = [run('throw'), run('reject')];
    expect(await Promise.all(services.map((service) => service.exit))).toEqual([1, 1]);
    for (const service of services) expect(service.output.stdout).toMatch(/oh no[^]*stop called/);
  });

  it('keeps running after an unhandled error of a trace export, and logs it', async () => {
    const services = [run('export-throws'), run('export-rejects')];
    await Promise.all(services.map(ready));
    for (const service of services) {
      await until('the error is logged', () => service.output.stdout.includes('oh no'));
      service.child.kill('SIGTERM');
    }
    expect(await Promise.all(services.map((service) => service.exit))).toEqual([0, 0]);
    for (const service of services) expect(service.output.stdout).toMatch(/oh no[^]*SIGTERM/);
  });

  it('prints only the message about invalid settings and exits 1', async () => {
    const services = [run('settings'), run('well', { LOG_LEVEL: 'loud' })];
    expect(await Promise.all(services.map((service) => service.exit))).toEqual([1, 1]);
    expect(services.map((service) => service.output.stderr)).toEqual([
      'PORT must be right\n',
      'LOG_LEVEL must be error, warn, info or debug, not "loud"\n',
    ]);
  });

  it('exits 1 when it cannot start, and when it cannot stop', async () => {
    const failing = run('fail');
    const stuck = run('stop-fails');
    await ready(stuck);
    stuck.child.kill('SIGTERM');
    expect(await Promise.all([failing.exit, stuck.exit])).toEqual([1, 1]);
    expect(failing.output.stdout).toMatch(/Could not start[^]*no store/);
    expect(stuck.output.stdout).toMatch(/Stopping failed/);
  });

  it('stops cleanly on SIGTERM while it starts', async () => {
    const service = run('slow-start');
    await once(service.child.stdout, 'data');
    service.child.kill('SIGTERM');
    expect(await service.exit).toBe(0);
    expect(service.output.stdout).toMatch(/stop called/);
  });
});
