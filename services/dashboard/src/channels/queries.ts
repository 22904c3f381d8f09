import { infiniteQueryOptions, queryOptions, useQueryClient } from '@tanstack/react-query';
import type { Channel, ChannelInput, ChannelUpdate } from '@tocsin/contracts/channels/channel';
import type {
  Attempt,
  Delivery,
  DeliveryDetail,
  RedeliveryResult,
} from '@tocsin/contracts/deliveries/delivery';
import type { DeliveryState } from '@tocsin/contracts/vocabulary';
import { ApiError } from '../api/api-error.ts';
import { request } from '../api/request.ts';

const PATH = '/api/dashboard/channels';
const DELIVERIES = '/api/dashboard/deliveries';
const PAGE_SIZE = 50;
/** The live stream has no events of channels. */
const REFRESH_MS = 15_000;
const SOON_MS = 3_000;
const NEAR_MS = 60_000;

export const channelsQuery = queryOptions({
  queryKey: ['channels'],
  queryFn: async ({ signal }) => (await request<{ channels: Channel[] }>('GET', PATH, { signal })).channels,
  refetchInterval: REFRESH_MS,
});

// oxlint-disable-next-line typescript/explicit-module-boundary-types -- the library infers the type of the response from it
export const channelQuery = (id: string) =>
  queryOptions({
    queryKey: ['channel', id],
    queryFn: async ({ signal }) =>
      (await request<{ channel: Channel }>('GET', `${PATH}/${id}`, { signal })).channel,
    refetchInterval: REFRESH_MS,
  });

/** The delivery log of a channel. */
// oxlint-disable-next-line typescript/explicit-module-boundary-types -- as above
export const deliveriesQuery = (channelId: string, state: DeliveryState | null) =>
  infiniteQueryOptions({
    queryKey: ['channel', channelId, 'deliveries', state],
    queryFn: async ({ signal, pageParam }) => {
      const query = new URLSearchParams({ limit: String(PAGE_SIZE) });
      if (state !== null) query.set('state', state);
      if (pageParam !== null) query.set('before', pageParam);
      const path = `${PATH}/${channelId}/deliveries?${query}`;
      return (await request<{ deliveries: Delivery[] }>('GET', path, { signal })).deliveries;
    },
    initialPageParam: null as string | null,
    getNextPageParam: (page) => (page.length < PAGE_SIZE ? null : page.at(-1)?.id),
    refetchInterval: ({ state: { data } }) => refreshAfterMs(data?.pages ?? [], Date.now()),
  });

// oxlint-disable-next-line typescript/explicit-module-boundary-types -- as above
export const deliveryQuery = (id: string) =>
  queryOptions({
    queryKey: ['delivery', id],
    queryFn: async ({ signal }) =>
      (await request<{ delivery: DeliveryDetail }>('GET', `${DELIVERIES}/${id}`, { signal })).delivery,
    refetchInterval: ({ state: { data } }) => refreshAfterMs(data ? [[data]] : [], Date.now()),
  });

/** @returns the channel, and its secret */
export function createChannel(input: ChannelInput): Promise<{ channel: Channel; secret: string }> {
  return request('POST', PATH, { body: input });
}

export async function updateChannel(id: string, update: ChannelUpdate): Promise<Channel> {
  return (await request<{ channel: Channel }>('PATCH', `${PATH}/${id}`, { body: update })).channel;
}

export async function deleteChannel(id: string): Promise<void> {
  await request('DELETE', `${PATH}/${id}`);
}

/** What the one attempt of a test event came to. */
export interface TestOutcome {
  readonly attempt: Attempt;
  readonly delivered: boolean;
}

export function testChannel(id: string): Promise<TestOutcome> {
  return request('POST', `${PATH}/${id}/test`);
}

export async function revealSecret(id: string): Promise<string> {
  return (await request<{ secret: string }>('GET', `${PATH}/${id}/secret`)).secret;
}

export interface Rotation {
  readonly secret: string;
  /** Until when what is sent is signed by the secret before, too. */
  readonly previousSecretExpiresAt: string;
}

export function rotateSecret(id: string): Promise<Rotation> {
  return request('POST', `${PATH}/${id}/rotate-secret`);
}

export async function redeliver(deliveryId: string): Promise<Delivery> {
  return (await request<{ delivery: Delivery }>('POST', `${DELIVERIES}/${deliveryId}/redeliver`)).delivery;
}

/** Sends every undelivered delivery from `since` (inclusive) to `until` (exclusive) again. */
export function redeliverRange(
  channelId: string,
  range: { readonly since: string; readonly until: string },
): Promise<RedeliveryResult> {
  return redeliverAll(() => request('POST', `${PATH}/${channelId}/redeliver`, { body: range }));
}

/**
 * The refetch interval of a delivery log: short while an attempt is near. A refetch loads all shown pages, so it grows with their
 * number.
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
 * Repeats a redelivery until no delivery is left, or until a request releases none: then another one would not help.
 * @param redeliverSome sends one request
 * @returns the sum of the counts; `more` if deliveries are left
 * @throws ApiError of the request that failed; its message says how many deliveries the earlier requests released
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
  if (count === 0) return 'No delivery will be sent again.';
  return count === 1 ? '1 delivery will be sent again.' : `${count} deliveries will be sent again.`;
}

/** @returns a function that shows the new state of a channel on every page */
export function useChannelChanged(): (channel: Channel) => void {
  const queryClient = useQueryClient();
  return (channel) => {
    const { queryKey } = channelQuery(channel.id);
    queryClient.setQueryData(queryKey, channel);
    void queryClient.invalidateQueries({ queryKey: channelsQuery.queryKey });
    // Disabling a channel holds its pending deliveries.
    void queryClient.invalidateQueries({ queryKey: [...queryKey, 'deliveries'] });
  };
}
