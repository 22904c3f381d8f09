import type { Attempt, Delivery, DeliveryDetail, RedeliveryResult } from '@tocsin/contracts/channel-delivery';
import type { Channel, ChannelInput, ChannelUpdate } from '@tocsin/contracts/channel';
import type { DeliveryState } from '@tocsin/contracts/vocabulary';
import { infiniteQueryOptions, queryOptions } from '@tanstack/react-query';
import { request } from '../api/request.ts';
import { redeliverAll } from './redeliver-all.ts';
import { refreshAfterMs } from './refresh-after.ts';

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
