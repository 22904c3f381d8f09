import { isDataError } from '@tocsin/db/database/errors';
import type { Isolation } from '@tocsin/db/regions/isolations';
import type { Logger } from '@tocsin/runtime/logger';
import { createLoop, type Loop } from '@tocsin/runtime/loop';

/** Without a report for 20 s, an isolation no longer counts. */
const REPORT_EVERY_MS = 5_000;

/** Writes what the api shows and acts on; see `packages/db/src/regions/isolations.ts`. */
export interface ReportIsolation {
  readonly renew: (isolation: Omit<Isolation, 'checkerId'>) => Promise<void>;
  readonly end: (isolation: Omit<Isolation, 'checkerId'>) => Promise<void>;
}

interface IsolationReportOptions extends Pick<Isolation, 'accountId' | 'region'> {
  readonly report: ReportIsolation;
  readonly logger: Logger;
}

/**
 * Reports to Postgres that this process is isolated, until it is not. While Postgres is unavailable, it tries again. An isolation that
 * began and ended meanwhile is reported afterwards, because its monitors have to be checked again.
 */
export class IsolationReport {
  readonly #options: IsolationReportOptions;
  #isIsolated = false;
  /** When the isolation began, by `performance.now()`. */
  #since = 0;
  /** Null: everything is reported. */
  #loop: Loop | null = null;

  constructor(options: IsolationReportOptions) {
    this.#options = options;
  }

  /** Whether there is something left to report. */
  get isOpen(): boolean {
    return this.#loop !== null;
  }

  update(isIsolated: boolean): void {
    if (isIsolated === this.#isIsolated) return;
    this.#isIsolated = isIsolated;
    const { accountId, region, logger } = this.#options;
    if (isIsolated) {
      this.#since = performance.now();
      logger.warn('No canary of an account responds: the region is isolated', { accountId, region });
    } else {
      logger.info('A canary of an account responds: the region is connected', { accountId, region });
    }
    if (this.#loop !== null) return this.#loop.wake();
    this.#loop = createLoop({
      name: 'Reporting an isolated region',
      everyMs: REPORT_EVERY_MS,
      work: () => this.#write(),
      logger,
    });
  }

  /** Ends without a last report: a row that is not renewed expires. */
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
      // The account was deleted.
      if (!isDataError(error)) throw error;
    }
    // The next isolation may have begun meanwhile.
    if (isIsolated || this.#isIsolated) return;
    void this.#loop?.stop();
    this.#loop = null;
  }
}
