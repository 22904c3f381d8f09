import type { CheckSource } from '@tocsin/contracts/vocabulary';
import type { Timings } from '@tocsin/contracts/event';
import type { SlotGap } from '@tocsin/core/schedule/slot-gap';
import type { CheckVerdict } from '@tocsin/core/status/apply-check';

/** The complete result of one check, ready to be recorded. */
export interface CheckRecord extends CheckVerdict {
  readonly monitorId: string;
  readonly source: CheckSource;
  /** The trigger that asked for this check; null for a scheduled one. */
  readonly triggerId: string | null;
  readonly statusCode: number | null;
  readonly errorDetail: string | null;
  readonly timings: Timings;
  /** Null where the check saw no certificate. */
  readonly certificateExpiresAt: Date | null;
  /** Of the check's trace, for the deliveries that may follow; absent where there is no tracing. */
  readonly traceparent?: string;
}

/**
 * What became of a result: `recorded` as an event; `duplicate` of a recorded slot or `gone` with its monitor, both dropped;
 * `busy`: the monitor is held by
 * another process or by an earlier result of the batch, so it is to be tried again.
 */
export type CheckOutcome =
  | {
      readonly kind: 'recorded';
      /** The event's stamp, epoch milliseconds. */
      readonly timestamp: number;
      /** A status change whose deliveries are due, or null. */
      readonly statusChangeId: string | null;
      /** Whether the check ran with an older revision than the monitor now has. */
      readonly outdated: boolean;
      /** Planned slots of its region just before this result's that nothing was recorded of; null: none that is known. */
      readonly gap: SlotGap | null;
    }
  | { readonly kind: 'duplicate' | 'gone' | 'busy' };
