import { afterEach, describe, expect, it, jest } from '@jest/globals';
import { SettingsError } from './env.ts';
import { startHealthServer } from './health.ts';
import type { HealthOptions, HealthServer } from './health.ts';
import { createMetrics } from './metrics.ts';

const metrics = createMetrics();
let server: HealthServer | undefined;

/** Functions that stay real, which are all except `setTimeout`. */
const REAL = ['Date', 'nextTick', 'performance', 'queueMicrotask', 'setImmediate', 'setInterval'] as const;

afterEach(async () => {
  jest.useRealTimers();
  await server?.stop();
  server = undefined;
});

async function start(options: Omit<HealthOptions, 'metrics'>): Promise<(path: string) => Promise<Response>> {
  server = await startHealthServer({ ...options, metrics, port: 0, host: '127.0.0.1' });
  const { port } = server;
  return (path) => fetch(`http://127.0.0.1:${port}${path}`);
}

describe('the health server', () => {
  it('serves /healthz, /readyz and /metrics, and refuses other paths and methods', async () => {
    const get = await start({ ready: { database: async () => {} } });
    expect([(await get('/healthz')).status, (await get('/readyz?full')).status]).toEqual([200, 200]);
    const response = await get('/metrics');
    expect(response.headers.get('content-type')).toMatch(/^text\/plain/);
    expect(await response.text()).toContain('process_cpu_user_seconds_total');
    expect((await get('/other')).status).toBe(404);
    const posted = await fetch(`http://127.0.0.1:${server?.port}/healthz`, { method: 'POST' });
    expect(posted.status).toBe(405);
  });

  it('names what fails and what hangs, without its message', async () => {
    let asked = (): void => undefined;
    const get = await start({
      live: { work: () => Promise.reject(new Error('inner detail')) },
      ready: {
        database: async () => {},
        queue: () => {
          throw new Error('inner detail');
        },
        slow: () => {
          asked();
          return new Promise(() => {});
        },
      },
    });
    /** Lets the time limit of the slow check pass as soon as the check has begun. */
    const getLate = async (path: string): Promise<Response> => {
      const slow = new Promise<void>((resolve) => (asked = resolve));
      const response = get(path);
      await slow;
      await jest.advanceTimersByTimeAsync(2_000);
      return response;
    };
    jest.useFakeTimers({ doNotFake: [...REAL] });
    const ready = await getLate('/readyz');
    expect(ready.status).toBe(503);
    expect(await ready.json()).toEqual({ status: 'failing', failing: { queue: 'failed', slow: 'timeout' } });
    expect((await get('/readyz?exclude=queue&exclude=slow&exclude=nothing')).status).toBe(200);
    expect((await getLate('/readyz?exclude=queue')).status).toBe(503);
    expect((await get('/healthz')).status).toBe(503);
  });

  // Other systems have no second loopback address.
  (process.platform === 'linux' ? it : it.skip)('listens only on its address', async () => {
    await start({ ready: {} });
    await expect(fetch(`http://127.0.0.2:${server?.port}/healthz`)).rejects.toMatchObject({
      cause: { code: 'ECONNREFUSED' },
    });
  });

  it('reports in one line that its port is in use, or that its address does not belong to this machine', async () => {
    await start({ ready: {} });
    const taken = startHealthServer({ ready: {}, metrics, port: server?.port ?? 0, host: '127.0.0.1' });
    await expect(taken).rejects.toThrow(SettingsError);
    await expect(taken).rejects.toThrow(/^HEALTH_PORT [^\n]*in use[^\n]*$/);
    const elsewhere = startHealthServer({ ready: {}, metrics, port: 0, host: '192.0.2.1' });
    await expect(elsewhere).rejects.toThrow(/^HEALTH_HOST must be an IP address of this machine[^\n]*$/);
  });
});
