import { parseUrl } from '@tocsin/contracts/parse-url';
import { FairLimiter, type Release } from '@tocsin/runtime/fair-limiter';
import { ExpiringMap, keepForInterval } from '../targets/expiring-map.ts';

/** A probe that has run for this long only waits for its target: it costs memory, but no time of this process. */
const SLOW_AFTER_MS = 1_000;
/** A timer that fires this much later tells of a process that is short of CPU time, not of a slow target. */
const LATE_TIMER_MS = 200;
/** Fast checks in a row after which a monitor that was slow counts as fast again. */
const FAST_CHECKS_TO_RECOVER = 3;
/** Slow checks per place of a fast one, and at least: a region whose network fails has as many as it starts within their time-outs. */
const SLOW_PER_FAST = 8;
const MIN_SLOW = 4_000;
/** Shares of the slow checks: what one account, or one host, makes wait leaves room for others. */
const ACCOUNT_SHARE = 3 / 4;
const HOST_SHARE = 1 / 2;

/** What the fairness between checks depends on. */
export interface CapacityClaim {
  readonly monitorId: string;
  readonly accountId: string;
  readonly url: string;
  readonly intervalSeconds: number;
}

export interface CheckCapacityOptions {
  /** Checks that run at the same time, apart from those that only wait for a slow target. */
  readonly concurrency: number;
  /** Slow checks that run at the same time. Default: eight times as many, at least 4,000. */
  readonly slowLimit?: number;
  /** Whether results wait for Postgres; default: never. */
  readonly isStalled?: () => boolean;
  /** Called when no more jobs should be taken, because checks wait for others or results for Postgres, and when they should again. */
  readonly onBacklog?: (waiting: boolean) => void;
  /** Milliseconds of a monotonic clock. */
  readonly now?: () => number;
}

/** A place of a check that runs. */
export interface Place {
  /** To be called once, when the probe has ended. The place is free then; what follows is up to Postgres. */
  probed(): void;
  /** To be called once, when the check is over. */
  release(): void;
}

/**
 * Decides which checks of a region run. A check that has not ended after a second moves to the slow ones and frees its place, and a
 * monitor that was slow the last time starts as one of them. So targets that hang never keep checks of fast monitors from running. The
 * slow checks of one account and of one host are limited, and those that wait take turns by account.
 */
export class CheckCapacity {
  readonly #fast: FairLimiter<'account'>;
  readonly #slow: FairLimiter<'account' | 'host'>;
  readonly #concurrency: number;
  readonly #isStalled: () => boolean;
  readonly #onBacklog: (waiting: boolean) => void;
  readonly #now: () => number;
  /** Monitors that were slow: how many fast checks they still need to count as fast. */
  readonly #slowMonitors: ExpiringMap<string, number>;
  /** Checks that were probed and whose result is not recorded. */
  #recording = 0;
  #closed = false;
  #backlog = false;

  constructor(options: CheckCapacityOptions) {
    const { concurrency, slowLimit = Math.max(MIN_SLOW, SLOW_PER_FAST * concurrency) } = options;
    this.#fast = new FairLimiter({
      limit: concurrency,
      limits: { account: concurrency },
      sharedBy: 'account',
    });
    this.#slow = new FairLimiter({
      limit: slowLimit,
      limits: { account: Math.ceil(slowLimit * ACCOUNT_SHARE), host: Math.ceil(slowLimit * HOST_SHARE) },
      sharedBy: 'account',
    });
    this.#concurrency = concurrency;
    this.#isStalled = options.isStalled ?? (() => false);
    this.#onBacklog = options.onBacklog ?? (() => undefined);
    this.#now = options.now ?? (() => performance.now());
    this.#slowMonitors = new ExpiringMap(options.now);
  }

  /**
   * Waits for a place.
   * @param withinMs how long, in milliseconds
   * @returns null when there was none in time
   */
  async acquire(claim: CapacityClaim, withinMs: number): Promise<Place | null> {
    if (this.#closed) return null;
    const { monitorId, accountId } = claim;
    if (this.#slowMonitors.get(monitorId) !== undefined) {
      const release = await this.#slow.acquire(slowOwners(claim), withinMs);
      return release === null ? null : this.#place(claim, release, true);
    }
    const owners = { account: accountId };
    const free = this.#fast.tryAcquire(owners);
    if (free !== null) return this.#place(claim, free, false);
    const waiting = this.#fast.acquire(owners, withinMs);
    this.#noteBacklog();
    const release = await waiting;
    this.#noteBacklog();
    return release === null ? null : this.#place(claim, release, false);
  }

  #place(claim: CapacityClaim, acquired: Release, isSlow: boolean): Place {
    let release = acquired;
    let isWaiting = false;
    let timer: NodeJS.Timeout;
    const watch = (): void => {
      const dueAt = this.#now() + SLOW_AFTER_MS;
      timer = setTimeout(() => {
        if (this.#now() - dueAt > LATE_TIMER_MS) return watch();
        isWaiting = true;
        if (isSlow) return;
        const slow = this.#slow.force(slowOwners(claim));
        release();
        release = slow;
      }, SLOW_AFTER_MS);
    };
    watch();
    let isProbed = false;
    return {
      probed: () => {
        isProbed = true;
        clearTimeout(timer);
        this.#noteSpeed(claim, isWaiting);
        release();
        this.#recording += 1;
        this.#noteBacklog();
      },
      release: () => {
        clearTimeout(timer);
        release();
        if (isProbed) this.#recording -= 1;
        this.#noteBacklog();
      },
    };
  }

  #noteSpeed({ monitorId, intervalSeconds }: CapacityClaim, wasSlow: boolean): void {
    const keepMs = keepForInterval(intervalSeconds);
    if (wasSlow) {
      this.#slowMonitors.set(monitorId, FAST_CHECKS_TO_RECOVER, keepMs);
      return;
    }
    const needed = this.#slowMonitors.get(monitorId);
    if (needed === undefined) return;
    if (needed > 1) this.#slowMonitors.set(monitorId, needed - 1, keepMs);
    else this.#slowMonitors.delete(monitorId);
  }

  /** Lets nothing start any more: whoever waits for a place, or asks for one, gets none. */
  close(): void {
    this.#closed = true;
    this.#fast.refuseWaiting();
    this.#slow.refuseWaiting();
  }

  get isClosed(): boolean {
    return this.#closed;
  }

  #noteBacklog(): void {
    const isRecordingBehind = this.#recording >= this.#concurrency && this.#isStalled();
    const backlog = this.#fast.waiting > 0 || isRecordingBehind;
    if (backlog === this.#backlog) return;
    this.#backlog = backlog;
    this.#onBacklog(backlog);
  }
}

function slowOwners({ accountId, url }: CapacityClaim): { account: string; host: string } {
  return { account: accountId, host: parseUrl(url)?.host ?? url };
}
