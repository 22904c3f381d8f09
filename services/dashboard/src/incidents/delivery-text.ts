import type { TimelineDelivery } from '@tocsin/contracts/incidents/timeline';
import { describeCause, formatCount } from '../components/format.ts';

/** Says what became of an alert, as `failed after 2 attempts: Timed out`. */
export function describeOutcome({
  state,
  attemptCount,
  error,
}: Pick<TimelineDelivery, 'state' | 'attemptCount' | 'error'>): string {
  const attempts = attemptCount === 0 ? '' : ` after ${formatCount(attemptCount, 'attempt')}`;
  const outcomes = {
    delivered: attemptCount > 1 ? `delivered${attempts}` : 'delivered',
    pending: attemptCount === 0 ? 'not sent yet' : `not delivered yet${attempts}`,
    failed: `failed${attempts}`,
    held: 'held: the channel is disabled',
  };
  const hasCause = (state === 'pending' || state === 'failed') && error !== null;
  return hasCause ? `${outcomes[state]}: ${describeCause(null, error)}` : outcomes[state];
}
