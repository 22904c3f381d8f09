import type { RedeliveryResult } from '@tocsin/contracts/channel-delivery';
import { ApiError } from '../api/api-error.ts';

/**
 * Repeats a redelivery until no delivery is left. A request that releases nothing is the last one: repeating it would not help.
 * @param redeliverSome one request to the api
 * @returns the sum of the counts; `more` if the last request released nothing although deliveries are left
 * @throws ApiError of the request that failed; after others that released deliveries, its message says how many
 */
export async function redeliverAll(
  redeliverSome: () => Promise<RedeliveryResult>,
): Promise<RedeliveryResult> {
  let total = 0;
  for (;;) {
    let result: RedeliveryResult;
    try {
      result = await redeliverSome();
    } catch (error) {
      throw withCount(error, total);
    }
    total += result.count;
    if (!result.more || result.count === 0) return { count: total, more: result.more };
  }
}

/** What to tell a person of a redelivery. */
export function describeRedelivery({ count, more }: RedeliveryResult): string {
  if (more) return `${describeCount(count)} Others are being sent: try again in a minute.`;
  return count === 0 ? 'No undelivered alerts in this time range.' : describeCount(count);
}

function withCount(error: unknown, count: number): unknown {
  if (count === 0 || !(error instanceof ApiError)) return error;
  const { status, title, message, requestId } = error;
  return new ApiError({
    status,
    title,
    detail: `${describeCount(count)} The request for the others failed. ${message}`,
    ...(requestId !== null && { instance: requestId }),
  });
}

function describeCount(count: number): string {
  if (count === 0) return 'No delivery is due again.';
  return count === 1 ? '1 delivery is due again.' : `${count} deliveries are due again.`;
}
