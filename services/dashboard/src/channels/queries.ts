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
const PAGE = 50;
/** A channel begins to fail, or is disabled, and nothing says so. */
const REFRESH_MS = 15_000;

export const channelsQuery = queryOptions({
  queryKey: ['channels'],
  queryFn: async ({ signal }) => (await request<{ channels: Channel[] }>('GET', PATH, { signal })).channels,
  refetchInterval: REFRESH_MS,
});

// oxlint-disable-next-line typescript/explicit-module-boundary-types -- the library infers the answer's type from it
export const channelQuery = (id: string) =>
  queryOptions({
    queryKey: ['channel', id],
    queryFn: async ({ signal }) =>
      (await request<{ channel: Channel }>('GET', `${PATH}/${id}`, { signal })).channel,
    refetchInterval: REFRESH_MS,
  });

/** A channel's delivery log; it looks again by itself, sooner while something is to be sent. */
// oxlint-disable-next-line typescript/explicit-module-boundary-types -- as above
export const deliveriesQuery = (channelId: string, state: DeliveryState | null) =>
  infiniteQueryOptions({
    queryKey: ['channel', channelId, 'deliveries', state],
    queryFn: async ({ signal, pageParam }) => {
      const query = new URLSearchParams({ limit: String(PAGE) });
      if (state !== null) query.set('state', state);
      if (pageParam !== null) query.set('before', pageParam);
      const path = `${PATH}/${channelId}/deliveries?${query}`;
      return (await request<{ deliveries: Delivery[] }>('GET', path, { signal })).deliveries;
    },
    initialPageParam: null as string | null,
    getNextPageParam: (page) => (page.length < PAGE ? null : page.at(-1)?.id),
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

/** Makes everything undelivered whose stamp is from `since` on and before `until` due again, in as many requests as it takes. */
export function redeliverRange(
  channelId: string,
  range: { readonly since: string; readonly until: string },
): Promise<RedeliveryResult> {
  return redeliverAll(() => request('POST', `${PATH}/${channelId}/redeliver`, { body: range }));
}

const SOON_MS = 3_000;
const LATER_MS = 15_000;
const NEAR_MS = 60_000;

/**
 * When a log is to be loaded again: soon while an attempt is near, else now and then. All pages that are shown are loaded
 * anew, so the more there are, the seldomer.
 */
export function refreshAfterMs(
  pages: readonly (readonly Pick<Delivery, 'state' | 'nextAttemptAt'>[])[],
  nowMs: number,
): number {
  const isNear = pages.flat().some(({ state, nextAttemptAt }) => {
    // Without a time it is being attempted.
    const at = nextAttemptAt === null ? nowMs : Date.parse(nextAttemptAt);
    return state === 'pending' && at - nowMs < NEAR_MS;
  });
  return (isNear ? SOON_MS : LATER_MS) * Math.max(1, pages.length);
}

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

/** @returns what shows a channel as the server has it now, on every page */
export function useChannelChanged(): (channel: Channel) => void {
  const queryClient = useQueryClient();
  return (channel) => {
    queryClient.setQueryData(channelQuery(channel.id).queryKey, channel);
    void queryClient.invalidateQueries({ queryKey: channelsQuery.queryKey });
    // Switching off holds what was pending.
    void queryClient.invalidateQueries({ queryKey: [...channelQuery(channel.id).queryKey, 'deliveries'] });
  };
}
