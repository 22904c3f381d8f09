import type { AdvancedWindows } from '@tocsin/db/maintenance-windows/advance-windows';
import type { SettledMaintenance } from '@tocsin/db/maintenance-windows/settle-maintenance';
import type { Logger } from '@tocsin/runtime/logger';
import { createLoop, type Loop } from '@tocsin/runtime/loop';
import type { NotifierMetrics } from './metrics.ts';
import { Refusals } from './refusals.ts';

const RUN_EVERY_MS = 500;
const MAX_EDGES = 10_000;

export interface MaintenanceScope {
  readonly among?: readonly string[];
  readonly excludedIds?: readonly string[];
}

export interface MaintenanceClockOptions {
  readonly advance: (scope: MaintenanceScope) => Promise<AdvancedWindows>;
  /** Updates some of the monitors whose maintenance state differs, and returns 0 monitors if none does. */
  readonly settle: (scope: MaintenanceScope) => Promise<SettledMaintenance>;
  /** Speeds up alerts, which the relay finds anyway. */
  readonly hint: (statusChangeIds: readonly string[]) => Promise<void>;
  readonly metrics: Pick<NotifierMetrics, 'maintenanceLateSeconds'>;
  readonly logger: Logger;
  readonly now?: () => number;
}

export interface MaintenanceClock {
  /** Alternates between all due windows and some of their monitors, so that no window waits for many monitors. */
  readonly run: (signal: AbortSignal) => Promise<void>;
  readonly retry: (signal: AbortSignal) => Promise<void>;
}

/**
 * Creates the work of the maintenance clock. Every notifier runs it, and row locks and conditional updates prevent duplicates. Windows and
 * monitors that Postgres refuses are retried separately, so that the others do not wait for them.
 */
export function createMaintenanceClock(options: MaintenanceClockOptions): MaintenanceClock {
  const { metrics, logger, now = () => performance.now() } = options;
  /** Starts and ends of windows with monitors still to change, kept across failed rounds. `lateSeconds` was measured at `at`. */
  let edges: { readonly edge: 'start' | 'end'; readonly lateSeconds: number; readonly at: number }[] = [];
  const windows = new Refusals(now);
  const monitors = new Refusals(now);

  async function advance(scope: MaintenanceScope): Promise<AdvancedWindows> {
    const advanced = await options.advance(scope);
    for (const { id: maintenanceWindowId, error } of advanced.refused)
      logger.error('PostgreSQL refuses the end of a maintenance window', { maintenanceWindowId, error });
    for (const maintenanceWindowId of advanced.brokenIds)
      logger.error('A maintenance window ended because its rule is invalid', { maintenanceWindowId });
    windows.add(advanced.refused);
    const at = now();
    const started = advanced.startedLate.map((lateSeconds) => ({ edge: 'start' as const, lateSeconds, at }));
    const ended = advanced.endedLate.map((lateSeconds) => ({ edge: 'end' as const, lateSeconds, at }));
    edges = [...edges, ...started, ...ended].slice(0, MAX_EDGES);
    return advanced;
  }

  async function settle(scope: MaintenanceScope): Promise<SettledMaintenance> {
    const settled = await options.settle(scope);
    for (const { id: monitorId, error } of settled.refused)
      logger.error('PostgreSQL refuses to begin or end the maintenance of a monitor', { monitorId, error });
    monitors.add(settled.refused);
    if (settled.monitors === 0) return settled;
    logger.info('Maintenance changed monitors', { monitors: settled.monitors });
    options.hint(settled.statusChangeIds).catch((error: unknown) => {
      logger.debug('Could not hint at status changes', { error });
    });
    return settled;
  }

  /** Retries what was refused. @returns true if a retry was due */
  async function retryNext(): Promise<boolean> {
    const [windowId, monitorId] = [windows.next(), monitors.next()];
    if (windowId !== null) {
      const { ended, refused } = await advance({ among: [windowId] });
      if (ended > 0) windows.forget(windowId);
      else if (refused.length === 0) windows.noteIdle(windowId);
    }
    if (monitorId !== null) {
      const { monitors: settled, refused } = await settle({ among: [monitorId] });
      if (settled > 0) monitors.forget(monitorId);
      else if (refused.length === 0) monitors.noteIdle(monitorId);
    }
    return windowId !== null || monitorId !== null;
  }

  return {
    run: async (signal) => {
      while (!signal.aborted) {
        await advance({ excludedIds: windows.ids() });
        const settled = await settle({ excludedIds: monitors.ids() });
        if (settled.monitors > 0) continue;
        for (const { edge, lateSeconds, at } of edges)
          metrics.maintenanceLateSeconds.observe({ edge }, lateSeconds + (now() - at) / 1_000);
        edges = [];
        return;
      }
    },
    retry: async (signal) => {
      while (!signal.aborted && (await retryNext()));
    },
  };
}

export function startMaintenanceClock(options: MaintenanceClockOptions): Pick<Loop, 'stop'> {
  const { logger } = options;
  const { run, retry } = createMaintenanceClock(options);
  const everyMs = RUN_EVERY_MS;
  const loops = [
    createLoop({ name: 'The maintenance clock', everyMs, logger, work: run }),
    createLoop({ name: 'Retrying refused maintenance', everyMs, logger, work: retry }),
  ];
  return {
    stop: async () => {
      await Promise.all(loops.map((loop) => loop.stop()));
    },
  };
}
