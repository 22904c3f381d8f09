import { isDataError } from '@tocsin/db/database/errors';
import type { Isolation } from '@tocsin/db/regions/isolations';
import type { Logger } from '@tocsin/runtime/logger';
import { createLoop, type Loop } from '@tocsin/runtime/loop';

/** An isolation expires 20 s after its last report. */
const REPORT_EVERY_MS = 5_000;

/** Writes isolations, which the api shows and acts on. */
export interface ReportIsolation {
  readonly renew: (isolation: Omit<Isolation, 'checkerId'>) => Promise<void>;
  readonly end: (isolation: Omit<Isolation, 'checkerId'>) => Promise<void>;
}

interface IsolationReportOptions extends Pick<Isolation, 'accountId' | 'region'> {
  readonly report: ReportIsolation;
  readonly logger: Logger;
}

/**
 * Reports an isolation of this process to Postgres until it ends. Also reports an isolation that ended while Postgres was unavailable,
 * because its monitors must be checked again.
 */
export class IsolationReport {
  readonly #options: IsolationReportOptions;
  #isIsolated = false;
  /** Start of the isolation, by `performance.now()`. */
  #since = 0;
  /** Null if everything is reported. */
  #loop: Loop | null = null;

  constructor(options: IsolationReportOptions) {
    this.#options = options;
  }

  get isOpen(): boolean {
    return this.#loop !== null;
  }

  update(isIsolated: boolean): void {
    if (isIsolated === this.#isIsolated) return;
    this.#isIsolated = isIsolated;
    const { accountId, region, logger } = this.#options;
    if (isIsolated) {
      this.#since = performance.now();
      logger.warn('No canary of an account responds, so the region is isolated', { accountId, region });
    } else {
      logger.info('A canary of an account responds, so the region is connected', { accountId, region });
    }
    if (this.#loop !== null) return this.#loop.wake();
    this.#loop = createLoop({
      name: 'Reporting an isolated region',
      everyMs: REPORT_EVERY_MS,
      work: () => this.#write(),
      logger,
    });
  }

  /** Ends without a last report, because rows expire. */
  async close(): Promise<void> {
    await this.#loop?.stop();
  }

  async #write(): Promise<void> {
    const { accountId, region, report } = this.#options;
    const isIsolated = this.#isIsolated;
    const isolation = { accountId, region, ageMs: performance.now() - this.#since };
    try {
      await (isIsolated ? report.renew(isolation) : report.end(isolation));
    } catch (error) {
      // The account was deleted in the meantime.
      if (!isDataError(error)) throw error;
    }
    // The next isolation may have begun in the meantime.
    if (isIsolated || this.#isIsolated) return;
    void this.#loop?.stop();
    this.#loop = null;
  }
}
