import type { FailedResponse, Timings } from '@tocsin/contracts/monitors/events';
import type { CheckSource } from '@tocsin/contracts/vocabulary';
import type { CheckResult, DecidedCheck, RefusedCheck } from '@tocsin/core/status/decide-check';

/** Complete result of one check, ready to be recorded. */
export interface CheckRecord extends CheckResult {
  readonly monitorId: string;
  readonly source: CheckSource;
  /** Trigger that requested the check, or null for a scheduled check. */
  readonly triggerId: string | null;
  readonly timings: Timings;
  /** Composes the response to a failed check, which is called only if the response is kept. Null without a response. */
  readonly response: (() => FailedResponse) | null;
}

/** Encrypts the response of a first failed check. Returns null to keep none. */
export type SealResponse = (check: CheckRecord) => string | null;

export interface RecordedCheck {
  readonly check: CheckRecord;
  readonly decided: DecidedCheck;
}

interface RecordedOutcome extends Omit<DecidedCheck, 'silence' | 'isFirstFailure' | 'regions'> {
  /** A status change whose deliveries are due, or null. */
  readonly statusChangeId: string | null;
}

/** `gone` means that the monitor was deleted. `busy` means that another session or an earlier result of the batch holds the monitor, so try again. */
export type CheckOutcome = RecordedOutcome | RefusedCheck | { readonly kind: 'gone' | 'busy' };
