import type { AdvancedWindows } from '@tocsin/db/maintenance-windows/advance-windows';
import type { SettledMaintenance } from '@tocsin/db/maintenance-windows/settle-maintenance';
import type { Logger } from '@tocsin/runtime/logger';
import { createLoop, type Loop } from '@tocsin/runtime/loop';
import type { NotifierMetrics } from './metrics.ts';

const RUN_EVERY_MS = 500;
/** Starts and ends that are remembered while rounds fail. */
const MAX_EDGES = 10_000;

export interface MaintenanceClockOptions {
  readonly advance: () => Promise<AdvancedWindows>;
  /** Updates some of the monitors whose maintenance state differs; 0 if none does. */
  readonly settle: () => Promise<SettledMaintenance>;
  /** Speeds up alerts. Without the hint, the relay finds them. */
  readonly hint: (statusChangeIds: readonly string[]) => Promise<void>;
  readonly metrics: Pick<NotifierMetrics, 'maintenanceLateSeconds'>;
  readonly logger: Logger;
  readonly now?: () => number;
}

/**
 * Creates the work of the maintenance clock: windows first, then some of their monitors, again and again, so that no due window waits for
 * many monitors. Every notifier runs it; row locks and conditional updates keep them from doing anything twice.
 */
export function createMaintenanceClock(
  options: MaintenanceClockOptions,
): (signal: AbortSignal) => Promise<void> {
  const { advance, settle, hint, metrics, logger, now = () => performance.now() } = options;
  /** Starts and ends whose monitors have not all changed: how late the window was, in seconds, and when that was. Kept over failed rounds. */
  let edges: { readonly edge: 'start' | 'end'; readonly lateSeconds: number; readonly at: number }[] = [];

  return async (signal) => {
    while (!signal.aborted) {
      const { startedLate, endedLate, brokenIds } = await advance();
      for (const maintenanceWindowId of brokenIds)
        logger.error('A maintenance window ended because its rule cannot be read', { maintenanceWindowId });
      const at = now();
      const started = startedLate.map((lateSeconds) => ({ edge: 'start' as const, lateSeconds, at }));
      const ended = endedLate.map((lateSeconds) => ({ edge: 'end' as const, lateSeconds, at }));
      edges = [...edges, ...started, ...ended].slice(0, MAX_EDGES);
      const { monitors, statusChangeIds } = await settle();
      if (monitors === 0) {
        for (const { edge, lateSeconds, at } of edges)
          metrics.maintenanceLateSeconds.observe({ edge }, lateSeconds + (now() - at) / 1_000);
        edges = [];
        return;
      }
      logger.info('Maintenance changed monitors', { monitors });
      hint(statusChangeIds).catch((error: unknown) => {
        logger.debug('Could not hint at status changes', { error });
      });
    }
  };
}

export function startMaintenanceClock(options: MaintenanceClockOptions): Loop {
  const work = createMaintenanceClock(options);
  return createLoop({ name: 'The maintenance clock', everyMs: RUN_EVERY_MS, logger: options.logger, work });
}
