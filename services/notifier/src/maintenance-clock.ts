import type { AdvancedWindows } from '@tocsin/db/maintenance-windows/advance-windows';
import type { SettledMaintenance } from '@tocsin/db/maintenance-windows/settle-maintenance';
import type { Logger } from '@tocsin/runtime/logger';
import { createLoop, type Loop } from '@tocsin/runtime/loop';
import type { NotifierMetrics } from './metrics.ts';

const RUN_EVERY_MS = 500;
/** Starts and ends that are remembered while rounds fail. */
const MAX_EDGES = 10_000;
/** A refused monitor waits this long before it is tried again. The wait doubles each time. */
const REFUSED_WAIT_MS = { first: 1_000, max: 30_000 } as const;
/** If more are refused, the cause is not in them. */
const MAX_REFUSED = 1_000;

export interface MaintenanceClockOptions {
  readonly advance: () => Promise<AdvancedWindows>;
  /** Updates some of the monitors whose maintenance state differs, without those excluded; 0 if none does. */
  readonly settle: (excludedIds: readonly string[]) => Promise<SettledMaintenance>;
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
  const refusals = createRefusals(now);

  return async (signal) => {
    while (!signal.aborted) {
      const { startedLate, endedLate, brokenIds, refused: windows } = await advance();
      for (const { id: maintenanceWindowId, error } of windows)
        logger.error('PostgreSQL refuses the end of a maintenance window', { maintenanceWindowId, error });
      for (const maintenanceWindowId of brokenIds)
        logger.error('A maintenance window ended because its rule cannot be read', { maintenanceWindowId });
      const at = now();
      const started = startedLate.map((lateSeconds) => ({ edge: 'start' as const, lateSeconds, at }));
      const ended = endedLate.map((lateSeconds) => ({ edge: 'end' as const, lateSeconds, at }));
      edges = [...edges, ...started, ...ended].slice(0, MAX_EDGES);
      const { monitors, statusChangeIds, refused } = await settle(refusals.waiting());
      for (const { id: monitorId, error } of refused)
        logger.error('PostgreSQL refuses to begin or end the maintenance of a monitor', { monitorId, error });
      refusals.note(refused.map(({ id }) => id));
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

/** Remembers the monitors that Postgres refuses, so that a batch is not refused for them again and again. */
function createRefusals(now: () => number): { note: (ids: string[]) => void; waiting: () => string[] } {
  const refused = new Map<string, { readonly times: number; readonly notBefore: number }>();
  return {
    note(ids) {
      const times = new Map([...refused].map(([id, refusal]) => [id, refusal.times]));
      // These were tried again and not refused, or were left for the next round.
      for (const [id, { notBefore }] of refused) if (notBefore <= now()) refused.delete(id);
      for (const id of ids.slice(0, MAX_REFUSED - refused.size)) {
        const before = times.get(id) ?? 0;
        const waitMs = Math.min(REFUSED_WAIT_MS.first * 2 ** before, REFUSED_WAIT_MS.max);
        refused.set(id, { times: before + 1, notBefore: now() + waitMs });
      }
    },
    waiting: () => [...refused].flatMap(([id, { notBefore }]) => (notBefore > now() ? id : [])),
  };
}

export function startMaintenanceClock(options: MaintenanceClockOptions): Loop {
  const work = createMaintenanceClock(options);
  return createLoop({ name: 'The maintenance clock', everyMs: RUN_EVERY_MS, logger: options.logger, work });
}
