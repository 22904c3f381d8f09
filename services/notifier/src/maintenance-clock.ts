import type { AdvancedWindows } from '@tocsin/db/maintenance-windows/advance-windows';
import type { SettledMaintenance } from '@tocsin/db/maintenance-windows/settle-maintenance';
import type { Logger } from '@tocsin/runtime/logger';
import type { MaintenanceMetrics } from './metrics.ts';

export interface MaintenanceClockOptions {
  /** Begins and ends the occurrences that are due. */
  readonly advance: () => Promise<AdvancedWindows>;
  /** Brings some of the monitors that differ in line; none where nothing differs. */
  readonly settle: () => Promise<SettledMaintenance>;
  /** Makes alerts prompt; without the hint the relay finds them. */
  readonly hint: (statusChangeIds: readonly string[]) => Promise<void>;
  readonly metrics: MaintenanceMetrics;
  readonly logger: Logger;
  /** Milliseconds of a monotonic clock. */
  readonly now?: () => number;
}

/**
 * The maintenance clock (design §4 "Maintenance"). Every notifier runs it; row locks and conditional updates keep them from doing
 * anything twice.
 */
export class MaintenanceClock {
  readonly #options: MaintenanceClockOptions;
  /** Kept until the last of their monitors has followed, over rounds that fail too. */
  #edges: Edge[] = [];

  constructor(options: MaintenanceClockOptions) {
    this.#options = options;
  }

  /**
   * One round: windows first, then their monitors, some at a time. A window that falls due while many monitors are brought in line does
   * not wait for them.
   */
  async keep(signal: AbortSignal): Promise<void> {
    const { advance, settle, hint, logger } = this.#options;
    while (!signal.aborted) {
      const advanced = await advance();
      noteBroken(advanced, logger);
      this.#remember(advanced);
      const { monitors, statusChangeIds } = await settle();
      if (monitors === 0) {
        this.#observe();
        return;
      }
      logger.info('Maintenance changed monitors', { monitors });
      hint(statusChangeIds).catch((error: unknown) => {
        logger.debug('Could not hint at status changes', { error });
      });
    }
  }

  get #now(): number {
    return this.#options.now?.() ?? performance.now();
  }

  #remember({ startedLate, endedLate }: AdvancedWindows): void {
    const at = this.#now;
    this.#edges.push(
      ...startedLate.map((late) => ({ edge: 'start' as const, late, at })),
      ...endedLate.map((late) => ({ edge: 'end' as const, late, at })),
    );
  }

  /** A window has begun, or ended, when the last of its monitors has. */
  #observe(): void {
    for (const { edge, late, at } of this.#edges) {
      this.#options.metrics.lateSeconds.observe({ edge }, late + (this.#now - at) / 1_000);
    }
    this.#edges = [];
  }
}

/** The beginning or the end of an occurrence. */
interface Edge {
  readonly edge: 'start' | 'end';
  /** How late its window was changed, in seconds. */
  readonly late: number;
  /** When that was, in milliseconds of a monotonic clock. */
  readonly at: number;
}

function noteBroken({ brokenIds }: AdvancedWindows, logger: Logger): void {
  for (const maintenanceWindowId of brokenIds) {
    logger.error('A maintenance window ended: its rule cannot be read any more', { maintenanceWindowId });
  }
}
