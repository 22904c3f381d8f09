import type { TimelineDelivery } from '@tocsin/contracts/incidents/timeline';
import { describeCause, formatCount } from '../components/format.ts';

type DeliveryOutcome = Pick<TimelineDelivery, 'state' | 'attemptCount' | 'error'>;

const STATES = { delivered: 'delivered', pending: 'not delivered yet', failed: 'failed' } as const;

/** Describes the outcome of an alert, as `failed after 2 attempts: Timed out`. */
export function describeOutcome(outcome: DeliveryOutcome): string {
  const { state, attemptCount } = outcome;
  if (state === 'held') return 'held: the channel is disabled';
  if (state === 'pending' && attemptCount === 0) return 'not sent yet';
  const attempts = describeAttempts(outcome);
  return attempts === null ? STATES[state] : `${STATES[state]} ${attempts}`;
}

/** Formats as `after 2 attempts: Timed out`. Null before the first attempt, and if that succeeded. */
export function describeAttempts({ state, attemptCount, error }: DeliveryOutcome): string | null {
  const isDelivered = state === 'delivered';
  if (attemptCount === 0 || (isDelivered && attemptCount === 1)) return null;
  const attempts = `after ${formatCount(attemptCount, 'attempt')}`;
  return isDelivered || error === null ? attempts : `${attempts}: ${describeCause(null, error)}`;
}
