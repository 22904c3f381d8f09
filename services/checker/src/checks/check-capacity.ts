import { performance } from 'node:perf_hooks';
import { parseUrl } from '@tocsin/contracts/parse-url';
import type { CheckTarget } from '@tocsin/db/monitors/check-targets';
import { FairLimiter, type Release } from '@tocsin/runtime/fair-limiter';
import { ExpiringMap } from '../targets/expiring-map.ts';
import { AdaptiveLimit, watchLateness } from './adaptive-limit.ts';

/** A probe that has run for this long only waits for its target: it costs memory, but no time of this process. */
const SLOW_AFTER_MS = 1_000;
/** A timer that fires this much late means that the process is short of CPU time, not that the target is slow. */
const LATE_TIMER_MS = 200;
/** Fast checks in a row after which a monitor that was slow counts as fast again. */
const FAST_CHECKS_TO_RECOVER = 3;
/** Beyond this many slow monitors, the one that was slow longest ago is forgotten. */
const MAX_SLOW_MONITORS = 200_000;
/** A check may start an interval and 15 s late, and another process may run every other one. */
const REMEMBERED_INTERVALS = 2;
const REMEMBERED_RESERVE_MS = 60_000;
/** Slow permits per fast permit, and their minimum. If a region's network fails, each check is slow until it times out. */
const SLOW_PER_FAST = 8;
const MIN_SLOW = 4_000;
/** The share of the slow permits that one account, or one host, may have while others have or request some. */
const ACCOUNT_SHARE = 3 / 4;
const HOST_SHARE = 1 / 2;
/** While this many checks wait for a fast permit, other processes take the jobs, until half of the checks have started. */
const MAX_WAITING = 10_000;

/** The properties of a check that fairness depends on. */
export type CapacityClaim = Pick<
  CheckTarget,
  'monitorId' | 'accountId' | 'url' | 'intervalSeconds' | 'timeoutSeconds'
>;

export interface CheckCapacityOptions {
  /** Checks that run at the same time, apart from those that only wait for a slow target. */
  readonly concurrency: number;
  /** Slow checks that run at the same time. Default: eight times as many, at least 4,000. */
  readonly slowLimit?: number;
  /** Whether results wait for Postgres; default: never. */
  readonly isStalled?: () => boolean;
  /** Whether this process is short of CPU time; default: by the load of its event loop. */
  readonly isBusy?: () => boolean;
  /** Calls a function with how late the event loop is, in ms, again and again, and returns one that ends this; default: a timer. */
  readonly watchLateness?: typeof watchLateness;
  /** Called when this process should stop taking jobs, because it cannot keep up, and when it should take them again. */
  readonly onBacklog?: (isBehind: boolean) => void;
  readonly now?: () => number;
}

/** Allows one check to run. Its functions are called once each, in this order. */
export interface Permit {
  /** How long the check waited for it. */
  readonly waitedMs: number;
  /** The probe begins. */
  readonly begin: () => void;
  /** The probe has ended. This frees the permit, because recording takes no time of this process. */
  readonly probed: () => void;
  /** The check is over, with or without a probe. */
  readonly release: () => void;
}

/** Why there was no permit: the process shuts down, no fast permit was free in time, or a limit of slow checks was reached. */
export type NoPermit = 'closed' | 'late' | 'throttled';

/**
 * Decides which checks of a region run (docs/adr/0014-fair-shares.md). A check whose probe has not ended after a second becomes a slow one
 * and frees its fast permit, and a monitor that was slow the last time starts as a slow one. So targets that hang never keep checks of
 * fast monitors from running. A check that becomes slow when no slow permit is left is charged to the fast permits of its account.
 *
 * While this process cannot keep up, fewer fast checks run at the same time: checks that start late are better than checks that time out.
 */
export class CheckCapacity {
  readonly #options: Required<CheckCapacityOptions>;
  readonly #fast: FairLimiter<'account'>;
  readonly #slow: FairLimiter<'account' | 'host'>;
  /** Monitors that were slow: how many fast checks they still need to count as fast. */
  readonly #slowMonitors: ExpiringMap<string, number>;
  /** Checks that were probed and whose result is not recorded. */
  #recording = 0;
  readonly #stopWatching: () => void;
  #closed = false;
  #isBehind = false;

  constructor(options: CheckCapacityOptions) {
    const { concurrency } = options;
    this.#options = {
      slowLimit: Math.max(MIN_SLOW, SLOW_PER_FAST * concurrency),
      isStalled: () => false,
      isBusy: watchLoopLoad(),
      watchLateness,
      onBacklog: () => undefined,
      now: () => performance.now(),
      ...options,
    };
    const { slowLimit, now } = this.#options;
    const fast = { limit: concurrency, limits: { account: concurrency } };
    this.#fast = new FairLimiter({ ...fast, sharedBy: 'account' });
    const limits = { account: Math.ceil(slowLimit * ACCOUNT_SHARE), host: Math.ceil(slowLimit * HOST_SHARE) };
    this.#slow = new FairLimiter({ limit: slowLimit, limits, sharedBy: 'account', soleOwnerMayUseAll: true });
    this.#slowMonitors = new ExpiringMap(now, MAX_SLOW_MONITORS);
    const adaptive = new AdaptiveLimit(concurrency);
    this.#stopWatching = this.#options.watchLateness((lateMs) =>
      this.#fast.setLimit(adaptive.next(lateMs, this.#fast.used)),
    );
  }

  /** Whether the next check of this monitor starts as a slow one. */
  isSlow(monitorId: string): boolean {
    return this.#slowMonitors.get(monitorId) !== undefined;
  }

  /** Waits for a permit, for at most `withinMs` ms. @param onSlow called once if the check only waits: for a target or a slow permit */
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
    const release = await (isSlow
      ? this.#slow.acquire(slowOwners(claim), withinMs)
      : this.#acquireFast(claim, withinMs));
    if (release === null) return this.#closed ? 'closed' : isSlow ? 'throttled' : 'late';
    return this.#permit(claim, this.#options.now() - requestedAt, release, isSlow ? null : onSlow);
  }

  /** Jobs run while their checks wait, and are limited: an account may have as many checks waiting as all accounts leave free. */
  #mayWaitForSlow(accountId: string): boolean {
    return this.#slow.waitingOf('account', accountId) <= this.#options.slowLimit - this.#slow.waiting;
  }

  async #acquireFast({ accountId }: CapacityClaim, withinMs: number): Promise<Release | null> {
    const waiting = this.#fast.acquire({ account: accountId }, withinMs);
    if (this.#fast.waiting === 0) return waiting;
    this.#noteBacklog();
    const release = await waiting;
    this.#noteBacklog();
    return release;
  }

  /** @param onSlow null for a check that starts as a slow one */
  #permit(claim: CapacityClaim, waitedMs: number, acquired: Release, onSlow: (() => void) | null): Permit {
    let release = acquired;
    let wasSlow = false;
    let timer: NodeJS.Timeout | undefined;
    const watch = (): void => {
      const dueAt = this.#options.now() + SLOW_AFTER_MS;
      timer = setTimeout(() => {
        if (this.#options.now() - dueAt > LATE_TIMER_MS) return watch();
        wasSlow = true;
        if (onSlow === null) return;
        const releaseFast = release;
        release = this.#slow.tryAcquire(slowOwners(claim)) ?? this.#fast.charge({ account: claim.accountId });
        releaseFast();
        onSlow();
      }, SLOW_AFTER_MS);
    };
    let isProbed = false;
    return {
      waitedMs,
      begin: watch,
      probed: () => {
        isProbed = true;
        clearTimeout(timer);
        this.#noteSpeed(claim, wasSlow);
        release();
        this.#recording += 1;
        this.#noteBacklog();
      },
      release: () => {
        clearTimeout(timer);
        release();
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

  /** Refuses all waiting and later checks. */
  close(): void {
    this.#closed = true;
    this.#stopWatching();
    this.#fast.refuseWaiting();
    this.#slow.refuseWaiting();
  }

  #noteBacklog(): void {
    const { concurrency, isStalled, onBacklog } = this.#options;
    const isBehind = this.#isStartingBehind() || (this.#recording >= concurrency && isStalled());
    if (isBehind === this.#isBehind) return;
    this.#isBehind = isBehind;
    onBacklog(isBehind);
  }

  #isStartingBehind(): boolean {
    const { waiting } = this.#fast;
    if (waiting === 0) return false;
    return waiting > (this.#isBehind ? MAX_WAITING / 2 : MAX_WAITING) || this.#options.isBusy();
  }
}

function slowOwners({ accountId, url }: CapacityClaim): { account: string; host: string } {
  return { account: accountId, host: parseUrl(url)?.host ?? url };
}

const SAMPLE_EVERY_MS = 500;
/** Share of the time that the event loop may work before the process counts as short of CPU time. */
const MAX_UTILIZATION = 0.95;

/** Whether this process is short of CPU time: its event loop was hardly idle since the last sample. Cheap enough for each check. */
export function watchLoopLoad(
  now: () => number = () => performance.now(),
  read: typeof performance.eventLoopUtilization = performance.eventLoopUtilization,
): () => boolean {
  let last = read();
  let sampledAt = now();
  let isBusy = false;
  return () => {
    if (now() - sampledAt < SAMPLE_EVERY_MS) return isBusy;
    sampledAt = now();
    const current = read();
    isBusy = read(current, last).utilization > MAX_UTILIZATION;
    last = current;
    return isBusy;
  };
}
