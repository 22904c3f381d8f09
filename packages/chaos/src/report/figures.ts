import { uncheckedSpans } from '../oracle/check-events.ts';
import type { CampaignRecord, Violation } from '../oracle/record.ts';

/** What a campaign came to, in numbers. */
export interface Figures {
  readonly seed: number;
  readonly minutes: number;
  readonly faults: number;
  readonly kinds: number;
  readonly kindsWanted: number;
  readonly checks: number;
  /** Of the neighbour: those that Postgres refused left nothing. */
  readonly neighbourChecks: number;
  readonly statusChanges: number;
  /** Times that a monitor went into maintenance. */
  readonly maintained: number;
  readonly deliveries: number;
  readonly attempts: number;
  /** Received more often than once. */
  readonly repeated: number;
  /** Undelivered when all was over, before they were made due again. */
  readonly undelivered: number;
  readonly longestUncheckedMs: number;
  readonly apiRequests: number;
  /** Requests to the API that were answered with 500 or more, or not at all. */
  readonly apiFailures: number;
  readonly violations: number;
}

export function figuresOf(record: CampaignRecord, violations: readonly Violation[]): Figures {
  const { database, receipts, faults, apiStatuses } = record;
  const fired = faults.filter(({ firedAt }) => firedAt !== null);
  const statuses = [...apiStatuses];
  return {
    seed: record.seed,
    minutes: record.minutes,
    faults: fired.length,
    kinds: new Set(fired.map(({ name }) => name)).size,
    kindsWanted: record.kinds.length,
    checks: database.events.length,
    neighbourChecks: sum(record.neighbour.map(({ eventStamps }) => eventStamps.length)),
    statusChanges: database.statusChanges.length,
    maintained: database.statusChanges.filter(({ to }) => to === 'MAINTENANCE').length,
    deliveries: database.deliveries.length,
    attempts: database.deliveries.reduce((total, { attempts }) => total + attempts, 0),
    repeated: receipts.length - new Set(receipts.map(({ id }) => id)).size,
    undelivered: record.undelivered.stored.length,
    longestUncheckedMs: Math.max(...uncheckedSpans(record).map(({ ms }) => ms)),
    apiRequests: sum(statuses.map(([, count]) => count)),
    apiFailures: sum(statuses.filter(([status]) => status === 0 || status >= 500).map(([, count]) => count)),
    violations: violations.length,
  };
}

function sum(counts: readonly number[]): number {
  return counts.reduce((total, count) => total + count, 0);
}
