import type { WebhookPayload } from '@tocsin/contracts/deliveries/webhook';
import type { Event } from '@tocsin/contracts/monitors/events';
import type { MonitorStatus } from '@tocsin/contracts/vocabulary';

/*
 * A second implementation of the status rules (docs/concepts/statuses.md), which shares no code with the system. It derives the expected
 * status changes from recorded events.
 */

/** Timestamps are compared separately. */
export type ExpectedWebhook = Omit<WebhookPayload, 'timestamp' | 'monitorId' | 'monitorName' | 'runbookUrl'>;

export type CheckEvent = Pick<
  Event,
  'timestamp' | 'status' | 'inconclusive' | 'latency' | 'errorReason' | 'region'
>;

export interface ModelMonitor {
  readonly failureThreshold: number;
  /** Defaults to 1. */
  readonly recoveryThreshold?: number;
  readonly regions: readonly string[];
  /** Epoch milliseconds, earliest first. Overlapping windows are merged, and `endsAt` may be Infinity. */
  readonly maintenance: readonly { readonly startsAt: number; readonly endsAt: number }[];
  /** Earliest first, in epoch milliseconds. */
  readonly thresholds?: readonly { readonly at: number; readonly value: number }[];
  /** A result counts for this many milliseconds. Defaults to forever. */
  readonly freshForMs?: number;
  /** Epoch milliseconds. Defaults to the distant past. */
  readonly createdAt?: number;
}

export interface ExpectedChange {
  readonly from: MonitorStatus;
  readonly to: MonitorStatus;
  /** Time of the event, the edit, or the start or end of maintenance that causes it. */
  readonly at: number;
  readonly region: string | null;
  /** Empty for a change without an alert. */
  readonly webhooks: readonly ExpectedWebhook[];
}

interface RegionState {
  failures: number;
  passes: number;
  /** It has passed since it failed, but not often enough to have recovered. */
  isRecovering: boolean;
  lastAt: number | null;
  since: number;
}

type Covered = Exclude<MonitorStatus, 'MAINTENANCE'>;

/**
 * Derives the status changes of a monitor from its events, which are sorted by timestamp.
 * @param until epoch milliseconds. Defaults to the last event
 */
export function expectedChanges(
  monitor: ModelMonitor,
  events: readonly CheckEvent[],
  until = -Infinity,
): ExpectedChange[] {
  const model = new Model(monitor);
  const moments = [
    ...(monitor.thresholds ?? []).map(({ at, value }) => ({
      at,
      apply: () => model.setThreshold(value, at),
    })),
    ...monitor.maintenance.flatMap(({ startsAt, endsAt }) => [
      { at: startsAt, apply: () => model.enterMaintenance(startsAt) },
      ...(endsAt === Infinity ? [] : [{ at: endsAt, apply: () => model.leaveMaintenance(endsAt) }]),
    ]),
  ].sort((one, other) => one.at - other.at);
  const advance = (time: number): void => {
    while (moments[0] !== undefined && moments[0].at <= time) moments.shift()?.apply();
  };
  for (const event of events) {
    const at = Date.parse(event.timestamp);
    advance(at);
    model.check(event, at);
  }
  advance(until);
  return model.changes;
}

export function expectedWebhooks(monitor: ModelMonitor, events: readonly CheckEvent[]): ExpectedWebhook[] {
  return expectedChanges(monitor, events).flatMap(({ webhooks }) => webhooks);
}

export function comparedFields(payload: WebhookPayload): ExpectedWebhook {
  const { event, status, previousStatus, latency, errorReason, region } = payload;
  return { event, status, previousStatus, latency, errorReason, region };
}

/** Returns the webhook events of a status change. @param before the previous status, or the one that maintenance covered */
export function webhookEventsOf(
  to: MonitorStatus,
  before: MonitorStatus,
  hasIncident: boolean,
): WebhookPayload['event'][] {
  if (to === 'MAINTENANCE') return ['monitor.maintenance'];
  if (to === 'DOWN') return ['monitor.down', ...(hasIncident ? [] : (['incident.created'] as const))];
  if (to !== 'UP' || before !== 'DOWN') return [];
  return ['monitor.up', ...(hasIncident ? (['incident.resolved'] as const) : [])];
}

class Model {
  readonly changes: ExpectedChange[] = [];
  readonly #monitor: ModelMonitor;
  readonly #regions: Map<string, RegionState>;
  #threshold: number;
  #status: MonitorStatus = 'PENDING';
  #covered: Covered = 'PENDING';
  #hasIncident = false;
  #last: CheckEvent | undefined;
  #lastFailure: CheckEvent | undefined;

  constructor(monitor: ModelMonitor) {
    this.#monitor = monitor;
    this.#threshold = monitor.failureThreshold;
    const since = monitor.createdAt ?? 0;
    const state = { failures: 0, passes: 0, isRecovering: false, lastAt: null, since };
    this.#regions = new Map(monitor.regions.map((region) => [region, { ...state }]));
  }

  check(event: CheckEvent, at: number): void {
    const region = this.#regions.get(event.region);
    if (region === undefined || event.inconclusive) return;
    this.#endSilence(region, at);
    this.#count(region, event.status === 'UP');
    region.lastAt = at;
    this.#last = event;
    if (event.status === 'DOWN') this.#lastFailure = event;
    if (this.#status === 'MAINTENANCE') {
      if (this.#covered === 'PENDING') this.#covered = 'UP';
      return;
    }
    const to = this.#decide(this.#status, at, [region]);
    if (to !== null && to !== this.#status) this.#change(to, at, event, this.#status);
  }

  #count(region: RegionState, passed: boolean): void {
    const failed = this.#fails(region);
    region.failures = passed ? 0 : region.failures + 1;
    region.passes = passed ? region.passes + 1 : 0;
    if (passed) region.isRecovering = failed && region.passes < (this.#monitor.recoveryThreshold ?? 1);
  }

  #fails({ failures, isRecovering }: RegionState): boolean {
    return isRecovering || failures >= this.#threshold;
  }

  setThreshold(threshold: number, at: number): void {
    this.#threshold = threshold;
    if (this.#status === 'PENDING' || this.#status === 'MAINTENANCE') return;
    const to = this.#decide(this.#status, at);
    if (to !== null && to !== this.#status) this.#change(to, at, null, this.#status);
  }

  enterMaintenance(at: number): void {
    if (this.#status === 'MAINTENANCE') return;
    this.#covered = this.#status;
    this.#change('MAINTENANCE', at, null, this.#status);
  }

  leaveMaintenance(at: number): void {
    const to = this.#decide(this.#covered, at);
    if (to === null) {
      // Without evidence for another status, the covered one returns without an alert.
      this.changes.push({ from: 'MAINTENANCE', to: this.#covered, at, region: null, webhooks: [] });
      this.#status = this.#covered;
    } else this.#change(to, at, null, this.#covered);
  }

  /**
   * Returns the status according to the fresh regions, or null if none of them has reported. A monitor goes DOWN only if the latest
   * check of a witness failed, and recovers only if it passed.
   */
  #decide(
    before: MonitorStatus,
    now: number,
    witnesses: Iterable<RegionState> = this.#regions.values(),
  ): 'UP' | 'DOWN' | null {
    const fresh = [...this.#regions.values()].filter((region) => this.#isFresh(region, now));
    const reported = fresh.filter(({ lastAt }) => lastAt !== null);
    if (reported.length === 0) return null;
    const failing = reported.filter((region) => this.#fails(region)).length;
    const shown = [...witnesses].filter((one) => reported.includes(one));
    const hasFailed = shown.some((one) => one.failures > 0);
    if (failing * 2 > fresh.length) return before === 'DOWN' || hasFailed ? 'DOWN' : null;
    if (before !== 'DOWN') return 'UP';
    const hasPassed = shown.some((one) => one.failures === 0);
    return hasPassed && failing * 2 <= reported.length ? 'UP' : null;
  }

  #isFresh({ lastAt, since }: RegionState, now: number): boolean {
    return now - (lastAt ?? since) < (this.#monitor.freshForMs ?? Infinity);
  }

  /** After a silence of all regions, the other regions count as just assigned, so that one result does not decide alone. */
  #endSilence(reporting: RegionState, now: number): void {
    const regions = [...this.#regions.values()];
    if (regions.some((one) => one.lastAt !== null && this.#isFresh(one, now))) return;
    for (const region of regions) {
      if (region !== reporting && !this.#isFresh(region, now))
        Object.assign(region, { lastAt: null, since: now });
    }
  }

  /** @param check the cause, or null @param before the previous status, or the one that maintenance covered */
  #change(to: MonitorStatus, at: number, check: CheckEvent | null, before: MonitorStatus): void {
    const from = this.#status;
    const by = check ?? (to === 'DOWN' ? this.#lastFailure : this.#last);
    const facts =
      to === 'MAINTENANCE'
        ? { latency: 0, errorReason: null, region: this.#monitor.regions[0] ?? '' }
        : {
            latency: by?.latency ?? 0,
            errorReason: to === 'DOWN' ? (by?.errorReason ?? null) : null,
            region: by?.region ?? '',
          };
    const events = webhookEventsOf(to, before, this.#hasIncident);
    if (to !== 'MAINTENANCE') this.#hasIncident = to === 'DOWN';
    const status = to as WebhookPayload['status'];
    const webhooks = events.map((event) => Object.assign({ event, status, previousStatus: from }, facts));
    this.changes.push({ from, to, at, region: check?.region ?? null, webhooks });
    this.#status = to;
  }
}
