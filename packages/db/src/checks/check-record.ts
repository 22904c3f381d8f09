import type { EventResponse, Timings } from '@tocsin/contracts/monitors/events';
import type { CheckSource } from '@tocsin/contracts/vocabulary';
import type { SlotGap } from '@tocsin/core/schedule/slots';
import type { CheckVerdict, RegionState } from '@tocsin/core/status/apply-check';
import type { ResultPair } from '../silences/silences.ts';

/** The complete result of one check, ready to be recorded. */
export interface CheckRecord extends CheckVerdict {
  readonly monitorId: string;
  readonly source: CheckSource;
  /** The trigger that requested this check; null for a scheduled one. */
  readonly triggerId: string | null;
  readonly statusCode: number | null;
  readonly timings: Timings;
  /** Null if the check saw no certificate. */
  readonly certificateExpiresAt: Date | null;
  /** What the target sent to a failed check; composed only if it is kept. Null without a response. */
  readonly response: (() => FailedResponse) | null;
  /** The trace context of the check, for the deliveries that may follow; absent without tracing. */
  readonly traceparent?: string | undefined;
}

/** The response to a failed check, bounded and redacted. */
export type FailedResponse = Omit<EventResponse, 'statusCode'>;

/** Encrypts the response of a first failed check. @returns null to keep none */
export type SealResponse = (check: CheckRecord) => string | null;

/** A result that was recorded as an event. */
interface RecordedOutcome {
  readonly kind: 'recorded';
  /** The event's timestamp, epoch milliseconds. */
  readonly timestamp: number;
  /** A status change whose deliveries are due, or null. */
  readonly statusChangeId: string | null;
  /** Whether the result counts for nothing, because its region may have had no network. */
  readonly inconclusive: boolean;
  /** Whether the check ran with an older revision than the monitor now has. */
  readonly outdated: boolean;
  /** Whether its region now fails without having reached the threshold, so that the check is retried. */
  readonly unconfirmed: boolean;
  /** Planned slots of its region just before this one without a recorded result; null: none is known. */
  readonly gap: SlotGap | null;
}

/**
 * A result that was dropped as a `duplicate` of a recorded slot, or because its monitor is `gone`; `busy` if another session, or an earlier
 * result of the batch, holds the monitor: try again. `unproven`: to be recorded once the network of its region is known.
 * A checker that died after recording a failure may not have retried it, so a `duplicate` tells whether its region is unconfirmed.
 */
export type DroppedCheck =
  | { readonly kind: 'duplicate'; readonly unconfirmed: boolean }
  | { readonly kind: 'gone' | 'busy' | 'unproven' };

export type CheckOutcome = RecordedOutcome | DroppedCheck;

/** What a batch changes about one region of a monitor. */
export interface RegionUpdate {
  readonly monitorId: string;
  readonly state: RegionState;
  readonly certificateExpiresAt: Date | null;
  /** When it was checked, epoch milliseconds; null: another region was. */
  readonly checkedAt: number | null;
  /** This check raises the counters of its region. Null if the check of another region changes this one. */
  readonly counted: Pick<RecordedCheck, 'check' | 'inconclusive'> | null;
}

/** A result that becomes an event. */
export interface RecordedCheck extends Omit<RecordedOutcome, 'statusChangeId'> {
  readonly check: CheckRecord;
  /** Set if the check may have ended a silence. */
  readonly silence: ResultPair | null;
  /** Whether it is the first failed check of its region, which keeps its response. */
  readonly firstFailure: boolean;
  readonly regions: readonly RegionUpdate[];
}
