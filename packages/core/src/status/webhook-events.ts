import type { MonitorStatus, WebhookEvent } from '@tocsin/contracts/vocabulary';

/** The clock of one monitor: strictly increasing timestamps in epoch milliseconds, used under its row lock. */
export class MonitorClock {
  #last: number;
  /** Postgres' clock when the monitor was locked, epoch milliseconds. */
  readonly now: number;

  /**
   * @param last the monitor's last timestamp, null if it has none
   * @param now Postgres' clock, read after the lock was taken
   */
  constructor(last: number | null, now: number) {
    this.#last = last ?? -Infinity;
    this.now = now;
  }

  /** The timestamp that `next` would return. */
  peek(): number {
    return Math.max(this.now, this.#last + 1);
  }

  /** The next timestamp: now, or one millisecond after the last one. */
  next(): number {
    this.#last = this.peek();
    return this.#last;
  }

  /** The last timestamp. */
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
