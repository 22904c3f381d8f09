import { MAX_CLOCK_OFFSET_MS, parseWaveId, type Wave, waveId } from '@tocsin/core/schedule/slots';
import { acquireLeaderLease, ADVISORY_LOCKS } from '@tocsin/db/database/leader-lease';
import { readClock } from '@tocsin/db/database/sql';
import { alignDefaultRegion } from '@tocsin/db/monitor-regions/schedule-spans';
import { listUnappliedSchedules, listWaves } from '@tocsin/db/monitor-regions/schedules';
import { listFinishedIsolations } from '@tocsin/db/regions/isolations';
import { RegionSchedules } from '@tocsin/queue/schedules';
import { createLeaderLoop, type LeaderLoop } from '@tocsin/runtime/leader';
import type { Logger } from '@tocsin/runtime/logger';
import { measureClockOffset } from '@tocsin/runtime/metrics';
import { withTimeout } from '@tocsin/runtime/timeout';
import { OutageLog } from './outage-log.ts';
import { recheckMonitors } from './recheck.ts';
import type { ScheduleMetrics, SyncCause } from './schedule-metrics.ts';
import { type ScheduleStores, syncSchedules } from './sync-schedules.ts';
import { UnusedRegions } from './unused-regions.ts';

const CHUNK = 1_000;
const MAX_CHUNKS = 20;
const SEEK_EVERY_MS = 10 * 60_000;
export const AUDIT_EVERY_MS = 5_000;
/** A region that takes longer continues while the next runs begin. */
export const REGION_TIMEOUT_MS = 2_000;

export interface ReconcilerOptions extends ScheduleStores {
  readonly defaultRegion: string;
  /** Regions from the settings. Their queues are kept even without monitors. */
  readonly regions: Iterable<string>;
  readonly metrics: ScheduleMetrics;
  readonly logger: Logger;
  readonly auditEveryMs?: number;
  readonly regionTimeoutMs?: number;
}

/** Postgres' time, and whether this process may replan waves by its own clock. */
interface TrueClock {
  readonly now: number;
  readonly restarts: boolean;
}

/**
 * Keeps the queue in sync with Postgres. Applies schedules, adds the checks after isolations, and audits the schedulers. Regions run in
 * parallel, so that one with a failing queue does not block the others.
 */
export class Reconciler {
  readonly #options: ReconcilerOptions;
  readonly #outages: OutageLog;
  readonly #unused: UnusedRegions;
  readonly #busy = new Map<string, Promise<boolean>>();
  #aligned = false;
  #auditedAt = -Infinity;
  #soughtAt = -Infinity;

  constructor(options: ReconcilerOptions) {
    this.#options = options;
    this.#outages = new OutageLog(options.logger, 'Reconciling schedules');
    this.#unused = new UnusedRegions(options, options.logger);
  }

  /** Called when this process becomes the leader. The next run does everything. */
  begin(): void {
    this.#aligned = false;
    this.#auditedAt = -Infinity;
    this.#soughtAt = -Infinity;
  }

  /** Called when another process may lead, which invalidates the metrics of this one. */
  end(): void {
    this.#options.metrics.forgetAudits();
  }

  async run(signal: AbortSignal): Promise<void> {
    const now = performance.now();
    if (now - this.#soughtAt >= SEEK_EVERY_MS) {
      await this.#alignDefaultRegion();
      this.#soughtAt = now;
      // A store that hangs must not delay the rest of the run. Its regions are handled once it lists them.
      await withTimeout(this.#unused.seek(), this.#options.regionTimeoutMs ?? REGION_TIMEOUT_MS, undefined);
    }
    await this.#applyUnapplied(signal);
    await this.#recheckConnected();
    if (signal.aborted || now - this.#auditedAt < (this.#options.auditEveryMs ?? AUDIT_EVERY_MS)) return;
    this.#auditedAt = now;
    await this.#auditAll(signal);
  }

  /** Once as the leader, and again as long as monitors are refused. */
  async #alignDefaultRegion(): Promise<void> {
    if (this.#aligned) return;
    const { db, defaultRegion, logger } = this.#options;
    let isComplete = true;
    const moved = await alignDefaultRegion(db, defaultRegion, ({ id: monitorId, error }) => {
      isComplete = false;
      logger.error('PostgreSQL refuses to move a monitor to the default region', { monitorId, error });
    });
    if (moved > 0) logger.info('Moved monitors to the default region', { defaultRegion, moved });
    this.#aligned = isComplete;
  }

  /** Waits for regions in progress. */
  async settle(): Promise<void> {
    await Promise.all(this.#busy.values());
  }

  async #applyUnapplied(signal: AbortSignal): Promise<void> {
    const skipped = new Set(this.#busy.keys());
    let found = 0;
    for (let chunk = 0; chunk < MAX_CHUNKS && !signal.aborted; chunk += 1) {
      const rows = await listUnappliedSchedules(this.#options.db, CHUNK, [...skipped]);
      found += rows.length;
      await Promise.all(
        [...new Set(rows.map((row) => row.region))].map(async (region) => {
          const ids = rows.filter((row) => row.region === region).map((row) => row.monitorId);
          const done = await this.#inRegion(region, () => this.#apply(region, ids));
          if (!done) skipped.add(region);
        }),
      );
      if (rows.length < CHUNK) break;
    }
    this.#options.metrics.unapplied(found);
  }

  async #recheckConnected(): Promise<void> {
    const { db, logger } = this.#options;
    const finished = await listFinishedIsolations(db);
    await Promise.all(
      [...new Set(finished.map(({ region }) => region))].map((region) => {
        const isolations = finished.filter((isolation) => isolation.region === region);
        return this.#inRegion(region, () => recheckMonitors(this.#options, isolations, logger));
      }),
    );
  }

  /** Reads Postgres before the queue. Changes in between are read again before a repair. */
  async #auditAll(signal: AbortSignal): Promise<void> {
    const { db } = this.#options;
    const wanted = await listWaves(db);
    const { aheadMs, behindMs } = await measureClockOffset(() => readClock(db));
    const now = Date.now() - aheadMs + behindMs;
    // With a wrong clock, this process would plan them wrongly again.
    const restarts = Math.max(aheadMs, behindMs) < MAX_CLOCK_OFFSET_MS;
    const clock = { now, restarts };
    const used = new Set([...this.#options.regions, ...wanted.keys()]);
    await Promise.all([
      ...[...used].map((region) =>
        this.#inRegion(region, () => this.#audit(region, wanted.get(region) ?? [], clock, signal)),
      ),
      ...this.#unused.take(used).map((region) => this.#removeRegion(region, clock, signal)),
    ]);
  }

  /** Removes a region without monitors. A region that checkers serve only loses its schedules. */
  async #removeRegion(region: string, clock: TrueClock, signal: AbortSignal): Promise<void> {
    const done = await this.#inRegion(region, async () => {
      if (!(await this.#unused.remove(region))) await this.#audit(region, [], clock, signal);
    });
    this.#options.metrics.forget(region);
    if (done) this.#outages.forget(region);
    else this.#unused.add(region);
  }

  async #apply(region: string, monitorIds: readonly string[]): Promise<void> {
    const applied = await syncSchedules(this.#options, region, monitorIds);
    this.#options.metrics.synced(region, 'unapplied', applied);
  }

  async #audit(
    region: string,
    wanted: readonly Wave[],
    clock: TrueClock,
    signal: AbortSignal,
  ): Promise<void> {
    const schedules = new RegionSchedules(this.#options.producers, region);
    const { missing, lost, ahead, stray } = await schedules.audit(new Set(wanted.map(waveId)), clock.now);
    for (const [cause, ids] of [
      ['missing', missing],
      ['lost', lost],
      ['ahead', clock.restarts ? ahead : []],
    ] as const) {
      if (signal.aborted) return;
      const waves = ids.map(parseWaveId).filter((wave) => wave !== null);
      await (cause === 'ahead' ? schedules.restart(waves) : schedules.apply(waves));
      this.#repaired(region, cause, waves.length);
    }
    if (stray.length > 0 && !signal.aborted) await this.#removeStray(schedules, region, stray);
    this.#options.metrics.audited(region);
  }

  /** Removes the waves that Postgres still does not want, and restores those that another api wants again meanwhile. */
  async #removeStray(schedules: RegionSchedules, region: string, stray: readonly string[]): Promise<void> {
    const wanted = new Set(await this.#wantedIds(region));
    const unwanted = new Set(stray.filter((id) => !wanted.has(id)));
    if (unwanted.size === 0) return;
    await schedules.remove([...unwanted]);
    this.#repaired(region, 'stray', unwanted.size);
    const wantedAgain = (await this.#wantedIds(region)).filter((id) => unwanted.has(id));
    const waves = wantedAgain.map(parseWaveId).filter((wave) => wave !== null);
    this.#repaired(region, 'missing', await schedules.ensure(waves));
  }

  async #wantedIds(region: string): Promise<string[]> {
    const waves = await listWaves(this.#options.db, region);
    return (waves.get(region) ?? []).map(waveId);
  }

  #repaired(region: string, cause: SyncCause, count: number): void {
    if (count === 0) return;
    this.#options.metrics.synced(region, cause, count);
    this.#options.logger.info('Repaired schedules', { region, cause, count });
  }

  /** Runs the work of one region. Never rejects. @returns whether it succeeded in time */
  async #inRegion(region: string, work: () => Promise<void>): Promise<boolean> {
    if (this.#busy.has(region)) return false;
    const running = this.#tryInRegion(region, work);
    this.#busy.set(region, running);
    return withTimeout(running, this.#options.regionTimeoutMs ?? REGION_TIMEOUT_MS, false);
  }

  async #tryInRegion(region: string, work: () => Promise<void>): Promise<boolean> {
    try {
      await work();
      this.#outages.worked(region);
      return true;
    } catch (error) {
      this.#outages.failed(region, error);
      return false;
    } finally {
      this.#busy.delete(region);
    }
  }
}

export const EVERY_MS = 2_500;
/** Short enough that another process replaces a dead leader and completes an audit well within 15 s. */
export const TAKE_OVER_EVERY_MS = 3_000;

/** Runs the reconciler in one api process at a time. @param databaseUrl a direct connection, not a transaction pooler's */
export function startReconciler(reconciler: Reconciler, databaseUrl: string, logger: Logger): LeaderLoop {
  const loop = createLeaderLoop({
    name: 'the schedule reconciler',
    everyMs: EVERY_MS,
    retryMs: TAKE_OVER_EVERY_MS,
    logger,
    acquire: (signal) => acquireLeaderLease(databaseUrl, ADVISORY_LOCKS.reconciler, signal),
    onElected: () => reconciler.begin(),
    onLost: () => reconciler.end(),
    work: (signal) => reconciler.run(signal),
  });
  return {
    ...loop,
    async stop() {
      await loop.stop();
      await reconciler.settle();
    },
  };
}
