import type { Database } from '@tocsin/db/database/open';
import type { LateRegions } from '@tocsin/db/regions/late-regions';
import { digestMonitors } from '@tocsin/db/monitors/read-overview';
import { listMonitorTimestamps } from '@tocsin/db/monitors/timestamps';
import type { Logger } from '@tocsin/runtime/logger';
import { createLoop, type Loop } from '@tocsin/runtime/loop';
import type { Reading } from '@tocsin/runtime/metrics';
import { isOutage } from '../http/errors.ts';
import type { ClientStream } from './client-stream.ts';
import { IncidentFollower } from './incident-activity.ts';
import type { StreamLimits } from './stream-limits.ts';
import { digestMessage, type Message, regionsMessage, resetMessage, toMessage, toPage } from './messages.ts';
import { readRecords } from './replay.ts';

/** A statement takes at most 15 s, so a query sees all records with an older timestamp. */
const COMMITTED_AFTER_MS = 20_000;

export interface AccountHubOptions {
  readonly db: Database;
  readonly accountId: string;
  readonly lateRegions: Reading<LateRegions>;
  readonly limits: StreamLimits;
  readonly logger: Logger;
}

/**
 * Follows one account in Postgres for all its streams in this process. Timestamps are in commit order, so records after the last one of a
 * monitor are new (docs/adr/0009-live-stream-by-polling.md).
 */
export class AccountHub {
  /** Rejects if the first query failed. The hub is unusable then. */
  readonly ready: Promise<void>;
  readonly streams = new Set<ClientStream>();
  readonly #options: AccountHubOptions;
  readonly #incidents: IncidentFollower;
  /** Last timestamp sent, by monitor. A monitor without an entry has no earlier record. */
  #timestamps = new Map<string, number>();
  /** Postgres' clock at the last complete query. */
  #position = 0;
  /** This process' clock after that query. */
  #completeAt = 0;
  #comparedAgo = 0;
  /** Late regions that streams know of, or null after they were unknown. A page may have read the regions just before one became late. */
  #late: string | null = '';
  #loop: Loop | undefined;
  #stopped = false;
  #failing = false;

  constructor(options: AccountHubOptions) {
    this.#options = options;
    this.#incidents = new IncidentFollower(options.db, options.accountId);
    this.ready = this.#start();
  }

  get position(): number {
    return this.#position;
  }

  /** Resolves after the last query. */
  async stop(): Promise<void> {
    this.#stopped = true;
    await this.ready.catch(() => undefined);
    await this.#loop?.stop();
  }

  async #start(): Promise<void> {
    const { limits, logger } = this.#options;
    await this.#beginNow();
    if (this.#stopped) return;
    this.#loop = createLoop({
      name: 'Following an account for its live streams',
      work: (signal) => this.#follow(signal),
      everyMs: limits.pollMs,
      logger,
    });
  }

  /** Treats all existing records as sent. */
  async #beginNow(): Promise<void> {
    const { db, accountId } = this.#options;
    const { now, timestamps } = await listMonitorTimestamps(db, accountId, null);
    this.#timestamps = new Map(timestamps);
    this.#moveTo(now);
    await this.#incidents.next(now);
  }

  async #follow(signal: AbortSignal): Promise<void> {
    try {
      if (performance.now() - this.#completeAt > this.#options.limits.replayMs) {
        await this.#beginNow();
        this.#publish([resetMessage(this.#position)]);
      }
      const incidents = await this.#incidents.next(this.#position);
      if (incidents.length > 0) this.#publish(incidents);
      await this.#readOn(signal);
      await this.#compareLate();
      this.#logOutage(false);
    } catch (error) {
      if (!isOutage(error)) throw error;
      this.#logOutage(true, error);
    }
  }

  /** Reads what has been recorded until now, page by page. Later records wait for the next query, however fast they arrive. */
  async #readOn(signal: AbortSignal): Promise<void> {
    const { db, accountId, limits } = this.#options;
    // A transaction of several slow statements may take longer, so some queries compare all monitors.
    const compareAll = this.#comparedAgo >= limits.compareAllEvery;
    const queriedAt = performance.now();
    const { now, timestamps, digest } = compareAll
      ? await digestMonitors(db, accountId)
      : {
          ...(await listMonitorTimestamps(db, accountId, this.#position - COMMITTED_AFTER_MS)),
          digest: null,
        };
    if (!(await this.#sendUpTo(timestamps, signal))) return;
    // Monitors without a timestamp were deleted.
    if (compareAll)
      for (const id of this.#timestamps.keys()) if (!timestamps.has(id)) this.#timestamps.delete(id);
    this.#comparedAgo = compareAll ? 0 : this.#comparedAgo + 1;
    this.#moveTo(now);
    if (digest !== null)
      for (const stream of this.streams) stream.publishDigest(digestMessage(now, digest), queriedAt);
  }

  /** @returns false at shutdown, before everything was sent */
  async #sendUpTo(timestamps: ReadonlyMap<string, number>, signal: AbortSignal): Promise<boolean> {
    const { db, accountId, limits } = this.#options;
    while (!signal.aborted) {
      const ranges = [...timestamps]
        .map(([monitorId, upTo]) => ({ monitorId, after: this.#timestamps.get(monitorId) ?? null, upTo }))
        .filter(({ after, upTo }) => after === null || after < upTo);
      const { records, complete } = await readRecords(db, accountId, ranges, limits.pageRecords);
      if (records.length > 0) this.#publish(records.map(toMessage));
      if (complete) {
        for (const { monitorId, upTo } of ranges) this.#timestamps.set(monitorId, upTo);
        return true;
      }
      for (const { record } of records) this.#timestamps.set(record.monitorId, Date.parse(record.timestamp));
    }
    return false;
  }

  /** A region that records nothing sends no checks either. */
  async #compareLate(): Promise<void> {
    const regions = await this.#options.lateRegions();
    const late = regions && [...regions.keys()].toSorted().join(' ');
    // A page that reads the regions meanwhile shows none of them as late.
    if (late !== null && late !== this.#late) this.#publish([regionsMessage(this.#position)]);
    this.#late = late;
  }

  #moveTo(position: number): void {
    this.#position = position;
    this.#completeAt = performance.now();
  }

  #publish(messages: readonly Message[]): void {
    const page = toPage(messages);
    for (const stream of this.streams) stream.publish(page);
  }

  #logOutage(failing: boolean, error?: unknown): void {
    if (failing === this.#failing) return;
    this.#failing = failing;
    const { logger, accountId } = this.#options;
    if (failing) logger.warn('Live streams wait for Postgres', { accountId, error });
    else logger.info('Live streams continue', { accountId });
  }
}
