import { once } from 'node:events';
import { expect, it } from '@jest/globals';
import type { StartOptions } from '../readiness.ts';
import { until } from '../testing/until.ts';
import { Restarts } from './restarts.ts';
import { type StoreServer, SupervisedStore } from './supervised-store.ts';

const RULE = { firstPauseMs: 0, maxPauseMs: 0, stableAfterMs: 60_000 };

it('Restarts doubles the pause up to its limit, until a run was stable', () => {
  const restarts = new Restarts({ firstPauseMs: 500, maxPauseMs: 1_500, stableAfterMs: 5_000 });
  const runs = [9_000, 0, 5_000, 100, 5_001, 0];
  expect(runs.map((ranMs) => restarts.next(ranMs))).toEqual([500, 1_000, 1_500, 1_500, 500, 1_000]);
  expect(restarts.failures).toBe(2);
});

/** A store whose starts succeed, fail, find other data, or last until they are canceled. */
async function supervise(outcomes: ('runs' | 'fails' | 'other data' | 'lasts')[]) {
  const ports: (number | undefined)[] = [];
  const said: string[] = [];
  const failures: string[] = [];
  const stopped: number[] = [];
  let kill = (): void => undefined;
  const { signal } = new AbortController();
  const start = async (how: StartOptions & { port?: number | undefined }): Promise<StoreServer> => {
    const run = ports.push(how.port);
    const outcome = outcomes[run - 1] ?? 'fails';
    if (outcome === 'fails') throw new Error('Store did not start: disk full');
    if (outcome === 'lasts' && how.signal) {
      await once(how.signal, 'abort');
      throw how.signal.reason;
    }
    const ended = new Promise<string>((resolve) => (kill = () => resolve('was terminated by SIGKILL')));
    const stop = async (): Promise<void> => void stopped.push(run);
    return { url: outcome === 'runs' ? 'store://secret' : 'store://new-secret', port: 7, ended, stop };
  };
  const onFailure = (message: string): unknown => failures.push(message);
  const say = (line: string): unknown => said.push(line);
  const store = await SupervisedStore.start({ name: 'Store', start, signal, say, onFailure, rule: RULE });
  return { store, ports, said, failures, stopped, kill: () => kill() };
}

it('restarts a store on its port, and stops the one that runs', async () => {
  const { store, ports, said, failures, stopped, kill } = await supervise(['runs', 'fails', 'runs']);
  kill();
  await until('it runs again', () => said.at(-1) === 'Store is running again');
  expect(said.slice(0, -1)).toEqual([
    'Store was terminated by SIGKILL. Restarting it in 0 s',
    'Store did not start: disk full. Restarting it in 0 s',
  ]);
  await store.stop();
  kill();
  expect([ports, stopped, failures]).toEqual([[undefined, 7, 7], [3], []]);
});

it('gives up once after ten restarts, and uses no other data', async () => {
  const { store, ports, failures, stopped, kill } = await supervise(['runs', 'fails', 'other data']);
  kill();
  await until('it gives up', () => failures.length > 0);
  await store.stop();
  expect(failures).toEqual([
    'Store failed 10 times in a row after its start. Last failure: Store did not start: disk full',
  ]);
  expect([ports.length, stopped]).toEqual([11, [3]]);
});

it('ends a restart that lasts when it is stopped', async () => {
  const { store, ports, said, failures, kill } = await supervise(['runs', 'lasts']);
  kill();
  await until('the restart', () => ports.length === 2);
  await store.stop();
  expect([said.length, failures]).toEqual([1, []]);
});
