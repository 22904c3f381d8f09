import type { AdvancedWindows } from '@tocsin/db/maintenance-windows/advance-windows';
import type { SettledMaintenance } from '@tocsin/db/maintenance-windows/settle-maintenance';
import type { Logger } from '@tocsin/runtime/logger';
import { createLoop, type Loop } from '@tocsin/runtime/loop';
import type { NotifierMetrics } from './metrics.ts';

const RUN_EVERY_MS = 500;

export interface MaintenanceClockOptions {
  /** Starts and ends the occurrences that are due. */
  readonly advance: () => Promise<AdvancedWindows>;
  /** Updates some of the monitors whose maintenance state differs; 0 if none does. */
  readonly settle: () => Promise<SettledMaintenance>;
  /** Makes alerts prompt. Without the hint the relay finds them. */
  readonly hint: (statusChangeIds: readonly string[]) => Promise<void>;
  readonly metrics: Pick<NotifierMetrics, 'maintenanceLateSeconds'>;
  readonly logger: Logger;
  /** Milliseconds of a monotonic clock. */
  readonly now?: () => number;
}

/** The maintenance clock. Every notifier runs it; row locks and conditional updates keep them from doing anything twice. */
export class MaintenanceClock {
  readonly #options: MaintenanceClockOptions;
  /** Kept until the last of their monitors has changed, over failed rounds too. */
  #edges: Edge[] = [];

  constructor(options: MaintenanceClockOptions) {
    this.#options = options;
  }

  /** One round: windows first, then some of their monitors, again and again, so that no due window waits for many monitors. */
  async run(signal: AbortSignal): Promise<void> {
    const { advance, settle, hint, logger } = this.#options;
    while (!signal.aborted) {
      const advanced = await advance();
      logBroken(advanced, logger);
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

  /** A window has started, or ended, when the last of its monitors has. */
  #observe(): void {
    for (const { edge, late, at } of this.#edges) {
      this.#options.metrics.maintenanceLateSeconds.observe({ edge }, late + (this.#now - at) / 1_000);
    }
    this.#edges = [];
  }
}

/** The start or the end of an occurrence. */
interface Edge {
  readonly edge: 'start' | 'end';
  /** How late its window was changed, in seconds. */
  readonly late: number;
  /** When that was, in milliseconds of a monotonic clock. */
  readonly at: number;
}

function logBroken({ brokenIds }: AdvancedWindows, logger: Logger): void {
  for (const maintenanceWindowId of brokenIds) {
    logger.error('A maintenance window ended because its rule cannot be read', { maintenanceWindowId });
  }
}

/** Runs the maintenance clock now and then every half second. */
export function startMaintenanceClock(options: MaintenanceClockOptions): Loop {
  const clock = new MaintenanceClock(options);
  return createLoop({
    name: 'The maintenance clock',
    everyMs: RUN_EVERY_MS,
    logger: options.logger,
    work: (signal) => clock.run(signal),
  });
}
