import type { AdvancedWindows } from '@tocsin/db/maintenance-windows/advance-windows';
import type { SettledMaintenance } from '@tocsin/db/maintenance-windows/settle-maintenance';
import type { Logger } from '@tocsin/runtime/logger';
import type { MaintenanceMetrics } from './maintenance-metrics.ts';

export interface MaintenanceClockOptions {
  /** Begins and ends the occurrences that are due. */
  readonly advance: () => Promise<AdvancedWindows>;
  /** Brings some of the monitors that differ in line; none where nothing differs. */
  readonly settle: () => Promise<SettledMaintenance>;
  /** Makes alerts prompt; without the hint the relay finds them. */
  readonly hint: (statusChangeIds: readonly string[]) => Promise<void>;
  readonly metrics: MaintenanceMetrics;
  readonly logger: Logger;
}

/**
 * One round of the maintenance clock (design §4 "Maintenance"): windows first, then their monitors, some at a time. Every
 * notifier runs it; row locks and conditional updates keep them from doing anything twice. A window that falls due while
 * many monitors are brought in line does not wait for them.
 */
export async function keepMaintenance(options: MaintenanceClockOptions, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    note(await options.advance(), options);
    const { monitors, statusChangeIds } = await options.settle();
    if (monitors === 0) return;
    options.logger.info('Maintenance changed monitors', { monitors });
    options.hint(statusChangeIds).catch((error: unknown) => {
      options.logger.debug('Could not hint at status changes', { error });
    });
  }
}

function note(
  { startedLate, endedLate, brokenIds }: AdvancedWindows,
  { metrics, logger }: MaintenanceClockOptions,
): void {
  for (const late of startedLate) metrics.lateSeconds.observe({ edge: 'start' }, late);
  for (const late of endedLate) metrics.lateSeconds.observe({ edge: 'end' }, late);
  for (const maintenanceWindowId of brokenIds) {
    logger.error('A maintenance window ended: its rule cannot be read any more', { maintenanceWindowId });
  }
}
