import { queryOptions } from '@tanstack/react-query';
import type { Delivery, RedeliveryResult } from '@tocsin/contracts/deliveries/delivery';
import type { DeliveryState } from '@tocsin/contracts/vocabulary';
import { pagedQuery } from '../api/paged-query.ts';
import { api, describeError } from '../api/request.ts';

/** The live stream does not deliver channels. */
const REFRESH_MS = 15_000;
const SOON_MS = 3_000;
const NEAR_MS = 60_000;

export const channelsQuery = queryOptions({
  queryKey: ['channels'],
  queryFn: async ({ signal }) => (await api('GET /api/dashboard/channels', { signal })).channels,
  refetchInterval: REFRESH_MS,
});

export const channelQuery = (id: string) =>
  queryOptions({
    queryKey: ['channel', id],
    queryFn: async ({ signal }) => (await api('GET /api/dashboard/channels/:id', { id, signal })).channel,
    refetchInterval: REFRESH_MS,
  });

/** The delivery log of a channel. Refreshing the channel also refreshes it. */
export const deliveriesQuery = (id: string, state: DeliveryState | null) => ({
  ...pagedQuery([...channelQuery(id).queryKey, 'deliveries', state], async ({ signal, ...page }) => {
    const query = { state: state ?? undefined, ...page };
    return (await api('GET /api/dashboard/channels/:id/deliveries', { id, query, signal })).deliveries;
  }),
  refetchInterval: ({
    state: { data },
  }: {
    state: { data?: { pages: readonly Delivery[][] } | undefined };
  }) => refreshAfterMs(data?.pages ?? [], Date.now()),
});

/** The number of held alerts. Refreshing the channel also refreshes it. */
export const heldQuery = (channelId: string) =>
  queryOptions({
    queryKey: [...channelQuery(channelId).queryKey, 'held'],
    queryFn: async ({ signal }) =>
      (await api('GET /api/dashboard/channels/:id/held-deliveries', { id: channelId, signal })).held,
    refetchInterval: REFRESH_MS,
  });

export const deliveryQuery = (id: string) =>
  queryOptions({
    queryKey: ['delivery', id],
    queryFn: async ({ signal }) => (await api('GET /api/dashboard/deliveries/:id', { id, signal })).delivery,
    refetchInterval: ({ state: { data } }) => refreshAfterMs(data ? [[data]] : [], Date.now()),
  });

/**
 * The refetch interval of a delivery log in milliseconds, which is short while an attempt is near. It grows with the number of pages,
 * because a refetch loads all of them.
 */
export function refreshAfterMs(
  pages: readonly (readonly Pick<Delivery, 'state' | 'nextAttemptAt'>[])[],
  nowMs: number,
): number {
  const isNear = pages.flat().some(({ state, nextAttemptAt }) => {
    // A pending delivery without a next attempt is being attempted now.
    const at = nextAttemptAt === null ? nowMs : Date.parse(nextAttemptAt);
    return state === 'pending' && at - nowMs < NEAR_MS;
  });
  return (isNear ? SOON_MS : REFRESH_MS) * Math.max(1, pages.length);
}

/**
 * Repeats a redelivery until no delivery is left, or until a request releases none.
 * @param redeliverSome sends one request
 * @returns the total count. `more` is true if deliveries are left
 * @throws the error of a request, with the count so far in its message
 */
export async function redeliverAll(
  redeliverSome: () => Promise<RedeliveryResult>,
): Promise<RedeliveryResult> {
  let total = 0;
  for (;;) {
    const { count, more } = await redeliverSome().catch((error: unknown) => {
      if (total === 0) throw error;
      const message = `${describeCount(total)} The request for the others failed. ${describeError(error)}`;
      throw new Error(message, { cause: error });
    });
    total += count;
    if (!more || count === 0) return { count: total, more };
  }
}

export function describeRedelivery({ count, more }: RedeliveryResult): string {
  if (more) return `${describeCount(count)} Others are being sent: try again in a minute.`;
  return count === 0 ? 'No undelivered alerts in this time range.' : describeCount(count);
}

function describeCount(count: number): string {
  if (count === 0) return 'No delivery will be sent again.';
  return count === 1 ? '1 delivery will be sent again.' : `${count} deliveries will be sent again.`;
}
