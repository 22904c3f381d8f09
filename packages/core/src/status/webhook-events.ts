import type { MonitorStatus, WebhookEvent } from '@tocsin/contracts/vocabulary';

/** The clock of one monitor: strictly increasing stamps in epoch milliseconds, used under the monitor's row lock. */
export class MonitorClock {
  #last: number;
  /** Postgres' clock when the monitor was locked, epoch milliseconds. */
  readonly now: number;

  /**
   * @param last the monitor's last stamp, null if it has none
   * @param now Postgres' clock, read after the lock was taken
   */
  constructor(last: number | null, now: number) {
    this.#last = last ?? -Infinity;
    this.now = now;
  }

  /** The stamp that `next` would give. */
  peek(): number {
    return Math.max(this.now, this.#last + 1);
  }

  /** The next stamp: now, or one millisecond after the last if now is not later. */
  next(): number {
    this.#last = this.peek();
    return this.#last;
  }

  /** The last stamp given out (or the one it started from). */
  get last(): number {
    return this.#last;
  }
}

/**
 * The webhook events of a status change, in the order of their timestamps. DOWN opens an incident unless one is open; UP resolves it.
 * @param announced false: a silent change, such as `PENDING` to `UP`
 */
export function webhookEventsOf(
  to: MonitorStatus,
  announced: boolean,
  incidentOpen: boolean,
): readonly WebhookEvent[] {
  if (!announced || to === 'PENDING') return [];
  if (to === 'MAINTENANCE') return ['monitor.maintenance'];
  if (to === 'DOWN') return incidentOpen ? ['monitor.down'] : ['monitor.down', 'incident.created'];
  return incidentOpen ? ['monitor.up', 'incident.resolved'] : ['monitor.up'];
}

/** Whether a change that a check caused is announced: everything but `PENDING` to `UP`. */
export function isAnnounced(from: MonitorStatus, to: 'UP' | 'DOWN'): boolean {
  return to === 'DOWN' || from === 'DOWN';
}
