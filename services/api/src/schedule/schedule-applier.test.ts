import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { until } from '@tocsin/embedded/testing/until';
import { captureLog } from '@tocsin/runtime/testing/captured-log';
import { startTracingWithoutExport } from '@tocsin/runtime/testing/trace-receiver';
import { continueTrace } from '@tocsin/runtime/tracing';
import { ScheduleApplier, type ChangedMonitors } from './schedule-applier.ts';

/** Records the calls to the store. Each call ends when the test ends it, or at `finish`. */
class SlowStore {
  #over = false;
  readonly calls: {
    region: string;
    ids: readonly string[];
    changed: ChangedMonitors;
    end: (error?: Error) => void;
  }[] = [];

  readonly sync = (region: string, changed: ChangedMonitors): Promise<number> =>
    new Promise((resolve, reject) => {
      const ids = [...changed.keys()];
      const end = (error?: Error): void => {
        if (error) reject(error);
        else resolve(ids.length);
      };
      this.calls.push({ region, ids, changed, end });
      if (this.#over) end();
    });

  /** Ends all open calls. Later calls end at once. */
  finish(): void {
    this.#over = true;
    for (const { end } of this.calls) end();
  }
}

/** Longer than any test takes. */
const LONG_MS = 600_000;

let store: SlowStore;
let log: ReturnType<typeof captureLog>;
let applier: ScheduleApplier;
beforeEach(() => {
  store = new SlowStore();
  log = captureLog();
  applier = new ScheduleApplier({
    sync: store.sync,
    logger: log.logger,
    maxPending: 1_000,
    stopWithinMs: LONG_MS,
  });
});
afterEach(async () => {
  store.finish();
  await applier.stop();
});

async function call(index: number): Promise<(typeof store.calls)[number]> {
  return until(`call ${index} of the store`, () => store.calls[index]);
}

/** Touches a monitor until it is applied, because a change during a failing batch is left to the reconciler. */
async function enqueueUntilCalled(index: number): Promise<(typeof store.calls)[number]> {
  return until(`call ${index} of the store`, () => {
    applier.enqueue(`m${index}`, ['eu']);
    return store.calls[index];
  });
}

describe('the applier', () => {
  test('collects changes made at the same moment, and changes during a batch', async () => {
    applier.enqueue('a', ['eu']);
    applier.enqueue('b', ['eu']);
    applier.enqueue('a', ['eu']);
    const first = await call(0);
    expect(first).toMatchObject({ region: 'eu', ids: ['a', 'b'] });
    for (const id of ['c', 'd', 'c', 'a']) applier.enqueue(id, ['eu']);
    first.end();
    expect((await call(1)).ids).toEqual(['c', 'd', 'a']);
  });

  test('applies regions in parallel', async () => {
    applier.enqueue('a', ['hung', 'eu']);
    (await call(1)).end();
    applier.enqueue('b', ['hung', 'eu']);
    expect(await call(2)).toMatchObject({ region: 'eu', ids: ['b'] });
  });

  test('sends batches of at most 500', async () => {
    for (let index = 0; index < 700; index += 1) applier.enqueue(`m${index}`, ['eu']);
    const first = await call(0);
    expect(first.ids).toHaveLength(500);
    first.end();
    expect((await call(1)).ids).toHaveLength(200);
  });

  test('keeps the trace of the request with each monitor, and drops it with a failed batch', async () => {
    const stopTracing = await startTracingWithoutExport();
    const [firstRequest, secondRequest, lostRequest] = [1, 2, 3].map(
      (request) => `00-4bf92f3577b34da6a3ce929d0e0e4736-000000000000000${request}-01`,
    );
    continueTrace(firstRequest, () => applier.enqueue('a', ['eu']));
    continueTrace(secondRequest, () => applier.enqueue('b', ['eu']));
    const first = await call(0);
    expect([...first.changed]).toEqual([
      ['a', firstRequest],
      ['b', secondRequest],
    ]);
    continueTrace(lostRequest, () => applier.enqueue('c', ['eu']));
    first.end(new Error('the store is unavailable'));
    const next = await enqueueUntilCalled(1);
    expect([...next.changed]).toEqual([['m1', undefined]]);
    await stopTracing();
  });

  test('leaves failed batches to the reconciler and logs the failure once', async () => {
    for (let round = 0; round < 3; round += 1) {
      (await enqueueUntilCalled(round)).end(new Error('the store is unavailable'));
    }
    (await enqueueUntilCalled(3)).end();
    await until('the recovery is logged', () => log.text().includes('works again'));
    expect(log.text().match(/"level":"warn"/g)).toHaveLength(1);
  });

  test('keeps a bounded number of changes, and leaves the rest to the reconciler', async () => {
    for (let index = 0; index <= 1_500; index += 1) applier.enqueue(`m${index}`, ['eu']);
    expect(log.text()).toContain('Leaving them to the reconciler');
    const first = await call(0);
    first.end();
    expect(first.ids.length + (store.calls[1]?.ids.length ?? 0)).toBeLessThanOrEqual(1_000);
  });

  test('applies the rest when it stops', async () => {
    applier.enqueue('a', ['eu', 'us']);
    const stopped = applier.stop();
    await call(1);
    for (const { end } of store.calls) end();
    await stopped;
    expect(store.calls.map(({ ids }) => ids)).toEqual([['a'], ['a']]);
  });

  test('does not wait for a store that hangs when it stops', async () => {
    const hasty = new ScheduleApplier({ sync: store.sync, logger: log.logger, stopWithinMs: 10 });
    hasty.enqueue('a', ['hung']);
    await call(0);
    // The call has not ended, so only its own limit lets `stop` return.
    await hasty.stop();
    expect(store.calls).toHaveLength(1);
  });
});
