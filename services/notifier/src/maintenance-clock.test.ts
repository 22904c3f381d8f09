import { describe, expect, test } from '@jest/globals';
import type { AdvancedWindows } from '@tocsin/db/maintenance-windows/advance-windows';
import { createSilentLogger } from '@tocsin/runtime/logger';
import { createMetrics } from '@tocsin/runtime/metrics';
import {
  createMaintenanceClock,
  type MaintenanceClockOptions,
  type MaintenanceScope,
} from './maintenance-clock.ts';
import { createNotifierMetrics } from './metrics.ts';

const NOTHING: AdvancedWindows = { startedLate: [], endedLate: [], ended: 0, brokenIds: [], refused: [] };

const SETTLED = { monitors: 0, statusChangeIds: [], refused: [] };

function optionsOf(override: Partial<MaintenanceClockOptions>): MaintenanceClockOptions {
  return {
    advance: async () => NOTHING,
    settle: async () => SETTLED,
    hint: async () => undefined,
    metrics: createNotifierMetrics(createMetrics()),
    logger: createSilentLogger(),
    ...override,
  };
}

const runClock = (options: MaintenanceClockOptions): Promise<void> =>
  createMaintenanceClock(options).run(new AbortController().signal);

/** Returns the measured values whose name has this ending, each with its edge. */
async function latenessOf({ metrics }: MaintenanceClockOptions, ending: string): Promise<unknown[]> {
  const { values } = await metrics.maintenanceLateSeconds.get();
  return values
    .filter(({ metricName }) => metricName?.endsWith(ending))
    .map(({ labels, value }) => [labels.edge, value]);
}

describe('the maintenance clock', () => {
  test('advances the windows before each batch of monitors, until none differs, and hints at each change', async () => {
    const calls: string[] = [];
    let left = 2;
    const options = optionsOf({
      advance: async () => {
        calls.push('advance');
        return NOTHING;
      },
      settle: async () => {
        calls.push('settle');
        left -= 1;
        return left < 0 ? SETTLED : { ...SETTLED, monitors: 200, statusChangeIds: [`change-${left}`] };
      },
      hint: (ids) => {
        calls.push(...ids);
        // The queue's store is unavailable, so the relay finds the changes.
        return Promise.reject(new Error('no store'));
      },
    });
    await runClock(options);
    const batch = ['advance', 'settle'];
    expect(calls).toEqual([...batch, 'change-1', ...batch, 'change-0', ...batch]);
  });

  test('stops between batches when its signal is aborted', async () => {
    const controller = new AbortController();
    let batches = 0;
    const options = optionsOf({
      settle: async () => {
        batches += 1;
        controller.abort();
        return { ...SETTLED, monitors: 200 };
      },
    });
    await createMaintenanceClock(options).run(controller.signal);
    expect(batches).toBe(1);
  });

  test.each(['advance', 'settle'] as const)(
    'leaves what Postgres refuses to %s out of its rounds, and retries it alone, less and less often',
    async (step) => {
      let time = 0;
      let isRefused = true;
      const scopes: MaintenanceScope[] = [];
      const handle = async (scope: MaintenanceScope) => {
        scopes.push(scope);
        const isIncluded = scope.excludedIds?.includes('a') !== true;
        const refused = isRefused && isIncluded ? [{ id: 'a', error: new Error('refused') }] : [];
        const changed = !isRefused && scope.among !== undefined ? 1 : 0;
        return { ...NOTHING, ...SETTLED, ended: changed, monitors: changed, refused };
      };
      const { run, retry } = createMaintenanceClock(optionsOf({ now: () => time, [step]: handle }));
      const { signal } = new AbortController();
      const scopesAt = async (at: number): Promise<unknown> => {
        time = at;
        await run(signal);
        await retry(signal);
        return scopes.splice(0);
      };
      const batch = { excludedIds: ['a'] };
      expect(await scopesAt(0)).toEqual([{ excludedIds: [] }]);
      expect(await scopesAt(999)).toEqual([batch]);
      expect(await scopesAt(1_000)).toEqual([batch, { among: ['a'] }]);
      expect(await scopesAt(2_999)).toEqual([batch]);
      isRefused = false;
      expect(await scopesAt(3_000)).toEqual([batch, { among: ['a'] }]);
      expect(await scopesAt(9_000)).toEqual([{ excludedIds: [] }]);
    },
  );

  test('measures how late each occurrence has started and ended for its last monitor', async () => {
    let time = 0;
    let left = 2;
    const options = optionsOf({
      now: () => time,
      advance: async () => (left === 2 ? { ...NOTHING, startedLate: [0.2], endedLate: [0.3, 400] } : NOTHING),
      settle: async () => {
        time += 1_000;
        left -= 1;
        return { ...SETTLED, monitors: left < 0 ? 0 : 200 };
      },
    });
    await runClock(options);
    expect(await latenessOf(options, '_sum')).toEqual([
      ['start', expect.closeTo(3.2)],
      ['end', expect.closeTo(406.3)],
    ]);
  });

  test('measures the starts and ends of a failed round once a later round has changed their monitors', async () => {
    let time = 0;
    let rounds = 0;
    const options = optionsOf({
      now: () => time,
      advance: async () => (rounds === 0 ? { ...NOTHING, startedLate: [0.2] } : NOTHING),
      settle: async () => {
        time += 1_000;
        rounds += 1;
        if (rounds === 1) throw new Error('a deadlock');
        return SETTLED;
      },
    });
    const { run } = createMaintenanceClock(options);
    const { signal } = new AbortController();
    await expect(run(signal)).rejects.toThrow('a deadlock');
    await run(signal);
    await run(signal);
    expect(await latenessOf(options, '_count')).toEqual([['start', 1]]);
    expect(await latenessOf(options, '_sum')).toEqual([['start', expect.closeTo(2.2)]]);
  });
});
