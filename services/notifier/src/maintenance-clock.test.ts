import { describe, expect, test } from '@jest/globals';
import type { AdvancedWindows } from '@tocsin/db/maintenance-windows/advance-windows';
import { createSilentLogger } from '@tocsin/runtime/logger';
import { createMetrics } from '@tocsin/runtime/metrics';
import { Histogram } from 'prom-client';
import { createMaintenanceClock, type MaintenanceClockOptions } from './maintenance-clock.ts';

const NOTHING: AdvancedWindows = { startedLate: [], endedLate: [], brokenIds: [] };

function optionsOf(override: Partial<MaintenanceClockOptions>): MaintenanceClockOptions {
  return {
    advance: () => Promise.resolve(NOTHING),
    settle: () => Promise.resolve({ monitors: 0, statusChangeIds: [] }),
    hint: () => Promise.resolve(),
    metrics: {
      maintenanceLateSeconds: new Histogram({
        name: 'late',
        help: 'late',
        labelNames: ['edge'],
        registers: [createMetrics()],
      }),
    },
    logger: createSilentLogger(),
    ...override,
  };
}

describe('the maintenance clock', () => {
  test('advances the windows before each batch of monitors, until none differs, and hints at each change', async () => {
    const calls: string[] = [];
    let left = 2;
    const options = optionsOf({
      advance: () => {
        calls.push('advance');
        return Promise.resolve(NOTHING);
      },
      settle: () => {
        calls.push('settle');
        left -= 1;
        return Promise.resolve(
          left < 0
            ? { monitors: 0, statusChangeIds: [] }
            : { monitors: 200, statusChangeIds: [`change-${left}`] },
        );
      },
      hint: (ids) => {
        calls.push(...ids);
        // The queue's store is unavailable: the relay finds the changes.
        return Promise.reject(new Error('no store'));
      },
    });
    await createMaintenanceClock(options)(new AbortController().signal);
    expect(calls).toEqual([
      'advance',
      'settle',
      'change-1',
      'advance',
      'settle',
      'change-0',
      'advance',
      'settle',
    ]);
  });

  test('stops between batches when its signal is aborted', async () => {
    const controller = new AbortController();
    let batches = 0;
    const options = optionsOf({
      settle: () => {
        batches += 1;
        controller.abort();
        return Promise.resolve({ monitors: 200, statusChangeIds: [] });
      },
    });
    await createMaintenanceClock(options)(controller.signal);
    expect(batches).toBe(1);
  });

  test('measures until the last monitor of an occurrence has entered maintenance', async () => {
    let time = 0;
    let left = 2;
    const started = { ...NOTHING, startedLate: [0.2] };
    const options = optionsOf({
      now: () => time,
      advance: () => Promise.resolve(left === 2 ? started : NOTHING),
      settle: () => {
        time += 1_000;
        left -= 1;
        return Promise.resolve({ monitors: left < 0 ? 0 : 200, statusChangeIds: [] });
      },
    });
    await createMaintenanceClock(options)(new AbortController().signal);
    const { values } = await options.metrics.maintenanceLateSeconds.get();
    expect(values.find((value) => value.metricName === 'late_sum')?.value).toBeCloseTo(3.2);
  });

  test('measures the starts and ends of a failed round once a later round has changed their monitors', async () => {
    let time = 0;
    let rounds = 0;
    const options = optionsOf({
      now: () => time,
      advance: () => Promise.resolve(rounds === 0 ? { ...NOTHING, startedLate: [0.2] } : NOTHING),
      settle: () => {
        time += 1_000;
        rounds += 1;
        if (rounds === 1) return Promise.reject(new Error('a deadlock'));
        return Promise.resolve({ monitors: 0, statusChangeIds: [] });
      },
    });
    const run = createMaintenanceClock(options);
    await expect(run(new AbortController().signal)).rejects.toThrow('a deadlock');
    await run(new AbortController().signal);
    await run(new AbortController().signal);
    const { values } = await options.metrics.maintenanceLateSeconds.get();
    expect(values.find(({ metricName }) => metricName === 'late_count')?.value).toBe(1);
    expect(values.find(({ metricName }) => metricName === 'late_sum')?.value).toBeCloseTo(2.2);
  });

  test('measures how late occurrences start and end', async () => {
    const options = optionsOf({
      advance: () => Promise.resolve({ startedLate: [0.2], endedLate: [0.3, 400], brokenIds: ['w'] }),
    });
    await createMaintenanceClock(options)(new AbortController().signal);
    const { values } = await options.metrics.maintenanceLateSeconds.get();
    const counts = values.filter((value) => value.metricName === 'late_count');
    expect(counts.map(({ labels, value }) => [labels.edge, value])).toEqual([
      ['start', 1],
      ['end', 2],
    ]);
  });
});
