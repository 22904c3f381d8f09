import { performance } from 'node:perf_hooks';
import { parseUrl } from '@tocsin/contracts/parse-url';
import type { CheckTarget } from '@tocsin/db/monitors/check-targets';
import { AdaptiveLimit } from '@tocsin/runtime/adaptive-limit';
import {
  IN_TIME_MS,
  MIN_CONCURRENCY,
  TOO_LATE_MS,
  watchLateness,
  watchLoopLoad,
} from '@tocsin/runtime/event-loop';
import { FairShares, type Release } from '@tocsin/runtime/fair-shares';
import { ExpiringMap } from '../targets/expiring-map.ts';

/** A probe that takes this long only waits for its target. It costs memory, but no CPU time. */
const SLOW_AFTER_MS = 1_000;
/** A timer this late shows that the process lacks CPU time, not that the target is slow. */
const LATE_TIMER_MS = 200;
/** After this many fast checks in a row, a slow monitor counts as fast again. */
const FAST_CHECKS_TO_RECOVER = 3;
/** Above this number, the monitor that has been slow for the longest time is forgotten. */
const MAX_SLOW_MONITORS = 200_000;
/** Slow monitors are remembered between checks. Another process may run every second check, and a check may start an interval and 15 s late. */
const REMEMBERED_INTERVALS = 2;
const REMEMBERED_RESERVE_MS = 60_000;
/** Slow permits per fast permit, and their minimum. If a region's network fails, every check is slow until it times out. */
const SLOW_PER_FAST = 8;
const MIN_SLOW = 4_000;
/** An account below its share gets a slow permit within this time. */
const SLOW_WITHIN_MS = 2_000;
/** While this many checks wait for a fast permit, other processes take the jobs, until half of them have started. */
const MAX_WAITING = 10_000;

export type CapacityClaim = Pick<
  CheckTarget,
  'monitorId' | 'accountId' | 'url' | 'intervalSeconds' | 'timeoutSeconds'
>;

export interface CheckCapacityOptions {
  /** Concurrent checks, not counting those that only wait for a slow target. */
  readonly concurrency: number;
  /** Concurrent slow checks. Defaults to eight times `concurrency`, at least 4,000. */
  readonly slowLimit?: number;
  /** Returns true while results wait for Postgres. Defaults to never. */
  readonly isStalled?: () => boolean;
  /** Returns true while this process lacks CPU time. Defaults to the event-loop utilization. */
  readonly isBusy?: () => boolean;
  /** Reports the lateness of the event loop in ms until the returned function is called. Defaults to a timer. */
  readonly watchLateness?: typeof watchLateness;
  readonly now?: () => number;
}

/** Allows one check to run. Call each function once, in this order. */
export interface Permit {
  readonly waitedMs: number;
  /** Aborted when other accounts need the capacity of this check. */
  readonly signal: AbortSignal;
  readonly begin: () => void;
  /** Call when the probe has ended. Frees the permit, because recording takes no CPU time. */
  readonly probed: () => void;
  /** Call when the check is over, with or without a probe. */
  readonly release: () => void;
}

/** `closed` means that the process shuts down, `late` that no fast permit was free in time, and `throttled` that no slow permit was. */
export type NoPermit = 'closed' | 'late' | 'throttled';

/**
 * Decides which checks of a region run (docs/adr/0014-fair-shares.md). After a second, a probe becomes slow and exchanges its fast permit
 * for a slow one. A monitor whose last check was slow starts as slow, so hanging targets never block fast monitors. While this process
 * cannot keep up, fewer fast checks run concurrently, because a late check is better than one that times out.
 */
export class CheckCapacity {
  readonly #options: Required<CheckCapacityOptions>;
  #concurrency: number;
  #slowLimit: number;
  #limit: AdaptiveLimit;
  readonly #fast: FairShares;
  readonly #slow: FairShares;
  /** Fast checks that each slow monitor still needs to count as fast. */
  readonly #slowMonitors: ExpiringMap<string, number>;
  /** Checks with a probe result that is not recorded yet. */
  #recording = 0;
  readonly #stopWatching: () => void;
  #closed = false;
  #isBehind = false;
  #onBacklog: (isBehind: boolean) => void = () => undefined;

  constructor(options: CheckCapacityOptions) {
    const { concurrency } = options;
    this.#options = {
      slowLimit: Math.max(MIN_SLOW, SLOW_PER_FAST * concurrency),
      isStalled: () => false,
      isBusy: watchLoopLoad(),
      watchLateness,
      now: () => performance.now(),
      ...options,
    };
    const { slowLimit, now } = this.#options;
    this.#concurrency = concurrency;
    this.#slowLimit = slowLimit;
    this.#limit = new AdaptiveLimit(concurrency, MIN_CONCURRENCY);
    this.#fast = new FairShares(concurrency, { maxWaiting: Infinity });
    this.#slow = new FairShares(slowLimit, { maxWaiting: Infinity });
    this.#slowMonitors = new ExpiringMap(now, MAX_SLOW_MONITORS);
    this.#stopWatching = this.#options.watchLateness((lateMs) => {
      if (lateMs > TOO_LATE_MS) this.#fast.setCapacity(this.#limit.reduce(this.#fast.used));
      else if (lateMs < IN_TIME_MS) this.#fast.setCapacity(this.#limit.raise());
    });
  }

  /** Changes the limits. The capacity of agents changes as they connect and disconnect. */
  resize(concurrency: number, slowLimit: number): void {
    // Agents change their credits often, which must not end the limit of a process that lacks CPU time.
    const { current } = this.#limit;
    const initial = current < this.#concurrency ? Math.min(current, concurrency) : concurrency;
    this.#concurrency = concurrency;
    this.#slowLimit = slowLimit;
    this.#limit = new AdaptiveLimit(concurrency, MIN_CONCURRENCY, initial);
    this.#fast.setCapacity(initial);
    this.#slow.setCapacity(slowLimit);
  }

  /** @param listener gets true when this process cannot keep up and should stop taking jobs, and false when it should take them again */
  onBacklog(listener: (isBehind: boolean) => void): void {
    this.#onBacklog = listener;
  }

  /** Reports whether the next check of this monitor starts as slow. */
  isSlow(monitorId: string): boolean {
    return this.#slowMonitors.get(monitorId) !== undefined;
  }

  /** Waits up to `withinMs` for a permit. @param onSlow called once, when the check only waits for its target or a slow permit */
  async acquire(
    claim: CapacityClaim,
    withinMs: number,
    onSlow: () => void = () => undefined,
  ): Promise<Permit | NoPermit> {
    if (this.#closed) return 'closed';
    const isSlow = this.isSlow(claim.monitorId);
    if (isSlow) {
      if (!this.#mayWaitForSlow(claim.accountId)) return 'throttled';
      onSlow();
    }
    const requestedAt = this.#options.now();
    const revoked = new AbortController();
    const release = await (isSlow
      ? this.#acquireSlow(claim, withinMs, revoked)
      : this.#acquireFast(claim, withinMs));
    if (release === null) return this.#closed ? 'closed' : isSlow ? 'throttled' : 'late';
    return this.#permit(claim, this.#options.now() - requestedAt, release, revoked, isSlow ? null : onSlow);
  }

  /** Every waiting check takes up one of the queue's jobs. An account is refused if it has more waiting checks than all accounts leave free. */
  #mayWaitForSlow(accountId: string): boolean {
    return this.#slow.waitingOf(accountId) <= this.#slowLimit - this.#slow.waiting;
  }

  #acquireSlow(
    { accountId, url }: CapacityClaim,
    withinMs: number,
    revoked: AbortController,
  ): Promise<Release | null> {
    const line = parseUrl(url)?.host ?? url;
    const onRevoke = (): boolean => {
      revoked.abort();
      return true;
    };
    return this.#slow.acquire(accountId, { withinMs, line, onRevoke });
  }

  async #acquireFast({ accountId }: CapacityClaim, withinMs: number): Promise<Release | null> {
    const waiting = this.#fast.acquire(accountId, { withinMs });
    if (this.#fast.waiting === 0) return waiting;
    this.#noteBacklog();
    const release = await waiting;
    this.#noteBacklog();
    return release;
  }

  /** @param onSlow null for a check that starts as slow */
  #permit(
    claim: CapacityClaim,
    waitedMs: number,
    acquired: Release,
    revoked: AbortController,
    onSlow: (() => void) | null,
  ): Permit {
    let release: Release | null = acquired;
    let wasSlow = false;
    let timer: NodeJS.Timeout | undefined;
    const end = (): void => {
      clearTimeout(timer);
      release?.();
      release = null;
    };
    const becomeSlow = async (): Promise<void> => {
      wasSlow = true;
      if (onSlow === null) return;
      release?.();
      onSlow();
      const slow = await this.#acquireSlow(claim, SLOW_WITHIN_MS, revoked);
      if (slow === null && !this.#closed) revoked.abort();
      if (release === null) slow?.();
      else if (slow !== null) release = slow;
    };
    const watch = (): void => {
      const dueAt = this.#options.now() + SLOW_AFTER_MS;
      timer = setTimeout(() => {
        if (this.#options.now() - dueAt > LATE_TIMER_MS) watch();
        else void becomeSlow();
      }, SLOW_AFTER_MS);
    };
    let isProbed = false;
    return {
      waitedMs,
      signal: revoked.signal,
      begin: watch,
      probed: () => {
        isProbed = true;
        this.#noteSpeed(claim, wasSlow);
        end();
        this.#recording += 1;
        this.#noteBacklog();
      },
      release: () => {
        end();
        if (isProbed) this.#recording -= 1;
        // The check ended without a result, for example while it waited for a lookup.
        else if (wasSlow) this.#noteSpeed(claim, true);
        this.#noteBacklog();
      },
    };
  }

  #noteSpeed({ monitorId, intervalSeconds, timeoutSeconds }: CapacityClaim, wasSlow: boolean): void {
    const left = wasSlow ? FAST_CHECKS_TO_RECOVER : (this.#slowMonitors.get(monitorId) ?? 1) - 1;
    if (left === 0) return this.#slowMonitors.delete(monitorId);
    const keepMs = (REMEMBERED_INTERVALS * intervalSeconds + timeoutSeconds) * 1_000 + REMEMBERED_RESERVE_MS;
    this.#slowMonitors.set(monitorId, left, keepMs);
  }

  close(): void {
    this.#closed = true;
    this.#stopWatching();
    this.#fast.refuseWaiting();
    this.#slow.refuseWaiting();
  }

  #noteBacklog(): void {
    const { isStalled } = this.#options;
    const isBehind = this.#isStartingBehind() || (this.#recording >= this.#concurrency && isStalled());
    if (isBehind === this.#isBehind) return;
    this.#isBehind = isBehind;
    this.#onBacklog(isBehind);
  }

  #isStartingBehind(): boolean {
    const { waiting } = this.#fast;
    if (waiting === 0) return false;
    return waiting > (this.#isBehind ? MAX_WAITING / 2 : MAX_WAITING) || this.#options.isBusy();
  }
}
