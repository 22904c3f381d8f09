import { setTimeout as wait } from 'node:timers/promises';
import type { ChannelSetEntry } from '@tocsin/contracts/channels/channel';
import type { MonitorSetEntry, MonitorSetResult } from '@tocsin/contracts/monitor-sets/monitor-set';
import type { DesiredItem } from '../desired/desired-set.ts';
import { Problem } from '../desired/problem.ts';
import { type TocsinClient, TocsinError } from './tocsin-client.ts';

const SET_INTERVAL_MS = 1_000;

/** An item that Tocsin refused, beside others that it would accept. */
export type Refusals = ReadonlyMap<DesiredItem, Problem>;

export interface SetWrite {
  readonly source: string;
  /** The source that an item may come from, because its deletion policy has changed. */
  readonly otherSource: string;
  readonly items: readonly DesiredItem[];
  /** What is neither changed nor deleted, by `field` and `externalId`, or null to delete nothing at all. */
  readonly kept: ReadonlySet<string> | null;
  /** True to plan first, and to write only if something differs. */
  readonly planFirst: boolean;
  readonly signal: AbortSignal;
}

/** The ids of the items by `field` and `externalId`, or the items that Tocsin refused. Nothing was written in that case. */
export type SetOutcome = { readonly ids: ReadonlyMap<string, string> } | { readonly refusals: Refusals };

export const idKey = ({ field, externalId }: Pick<DesiredItem, 'field' | 'externalId'>): string =>
  `${field} ${externalId}`;

/** Writes sets of monitors and channels, at most one a second for each source. */
export class SetWriter {
  readonly #tocsin: TocsinClient;
  readonly #onRequest: (kind: 'plan' | 'write') => void;
  readonly #nextAt = new Map<string, number>();

  constructor(tocsin: TocsinClient, onRequest: (kind: 'plan' | 'write') => void) {
    this.#tocsin = tocsin;
    this.#onRequest = onRequest;
  }

  /** Plans a set, without writing. @throws TocsinError */
  async plan(
    source: string,
    items: readonly DesiredItem[],
    signal: AbortSignal,
    prune = false,
  ): Promise<MonitorSetResult> {
    return this.#put(source, items, { dryRun: true, prune }, signal);
  }

  /** Makes the monitors and channels of a source equal to the items. @throws TocsinError that concerns all items */
  async write(write: SetWrite): Promise<SetOutcome> {
    const { source, items, kept, planFirst, signal } = write;
    // Deleting in the same request makes room in a full quota. It is possible only if nothing is kept, because `prune` has no exceptions.
    const prune = kept?.size === 0;
    try {
      if (planFirst) {
        const plan = await this.plan(source, items, signal, prune);
        if (!plan.changed && removable(plan, kept).length === 0) return { ids: idsOf(plan) };
      }
      const result = await this.#put(source, items, { prune }, signal);
      for (const { field, id } of removable(result, kept)) await this.#delete(field, id, signal);
      return { ids: idsOf(result) };
    } catch (error) {
      const refusals = await this.#refusalsOf(error, write);
      if (refusals === null) throw error;
      return { refusals };
    }
  }

  async #put(
    source: string,
    items: readonly DesiredItem[],
    options: { readonly dryRun?: boolean; readonly prune?: boolean },
    signal: AbortSignal,
  ): Promise<MonitorSetResult> {
    const now = performance.now();
    const at = Math.max(now, this.#nextAt.get(source) ?? 0);
    this.#nextAt.set(source, at + SET_INTERVAL_MS);
    if (at > now) await wait(at - now, undefined, { signal });
    this.#onRequest(options.dryRun === true ? 'plan' : 'write');
    const entriesOf = <Entry>(field: DesiredItem['field']): Entry[] =>
      items.filter((item) => item.field === field).map(({ entry }) => entry as Entry);
    const body = {
      source,
      monitors: entriesOf<MonitorSetEntry>('monitors'),
      channels: entriesOf<ChannelSetEntry>('channels'),
      ...options,
    };
    return this.#tocsin('PUT /api/cli/monitors', { body, signal });
  }

  async #delete(field: DesiredItem['field'], id: string, signal: AbortSignal): Promise<void> {
    const deleting =
      field === 'monitors'
        ? this.#tocsin('DELETE /api/cli/monitors/:id', { id, signal })
        : this.#tocsin('DELETE /api/cli/channels/:id', { id, signal });
    await deleting.catch((error: unknown) => {
      if (!(error instanceof TocsinError && error.status === 404)) throw error;
    });
  }

  /** Returns the items that an error names. Empty if the conflicts are resolved, and null if it names none. */
  async #refusalsOf(
    error: unknown,
    { items, source, otherSource, signal }: SetWrite,
  ): Promise<Refusals | null> {
    if (!(error instanceof TocsinError)) return null;
    if (error.code === 'owner-required') {
      const secret = items.filter(({ entry }) => 'secret' in entry);
      return new Map(secret.map((item) => [item, new Problem('NotAllowed', `secretRef: ${error.message}`)]));
    }
    if (error.quota !== null) return this.#beyondQuota(error, error.quota, { items, source, signal });
    if (error.errors.length === 0) return null;
    const refusals = new Map<DesiredItem, Problem>();
    for (const { path, code, message } of error.errors) {
      const [field, index, ...rest] = path.split('.');
      const item = items.filter((each) => each.field === field)[Number(index)];
      if (item === undefined) return null;
      const isTaken = code === 'conflict' && rest.join('.') === 'externalId';
      if (isTaken && (await this.#adopt(item, source, otherSource, signal))) continue;
      const text = `${rest.join('.')}: ${message.replace(/ \(externalId ".*"\)$/, '')}`;
      const before = refusals.get(item)?.message;
      refusals.set(
        item,
        new Problem(isTaken ? 'Conflict' : 'Invalid', before === undefined ? text : `${before}; ${text}`),
      );
    }
    return refusals;
  }

  /** Returns the new items that a quota has no room for, so that changes and deletions go on. */
  async #beyondQuota(
    { message }: TocsinError,
    { quota, limit, used }: NonNullable<TocsinError['quota']>,
    { items, source, signal }: Pick<SetWrite, 'items' | 'source' | 'signal'>,
  ): Promise<Refusals | null> {
    const field = quota === 'channels' ? 'channels' : 'monitors';
    const existing: readonly { readonly source: string | null; readonly externalId: string | null }[] =
      field === 'channels'
        ? (await this.#tocsin('GET /api/cli/channels', { signal })).channels
        : (await this.#tocsin('GET /api/cli/monitors', { query: { source }, signal })).monitors;
    const known = new Set(
      existing.flatMap((each) => (each.source === source ? (each.externalId ?? []) : [])),
    );
    const created = items.filter((item) => item.field === field && !known.has(item.externalId));
    const room = quota === field ? Math.max(0, created.length - (used - limit)) : 0;
    if (created.length === room) return null;
    return new Map(created.slice(room).map((item) => [item, new Problem('QuotaExceeded', message)]));
  }

  /** Moves an item from the other source. Returns false if it belongs to someone else. */
  async #adopt(
    { field, externalId }: DesiredItem,
    source: string,
    otherSource: string,
    signal: AbortSignal,
  ): Promise<boolean> {
    const path = { externalId };
    if (field === 'monitors') {
      const { monitor } = await this.#tocsin('GET /api/cli/monitors/by-external-id/:externalId', {
        path,
        signal,
      });
      if (monitor.source !== otherSource) return false;
      await this.#tocsin('PUT /api/cli/monitors/:id', { id: monitor.id, body: { source }, signal });
    } else {
      const { channel } = await this.#tocsin('GET /api/cli/channels/by-external-id/:externalId', {
        path,
        signal,
      });
      if (channel.source !== otherSource) return false;
      await this.#tocsin('PUT /api/cli/channels/:id', { id: channel.id, body: { source }, signal });
    }
    return true;
  }
}

/** Lists items that no object declares any more, and that the request has not deleted. */
function removable(
  { unlisted, channels }: MonitorSetResult,
  kept: SetWrite['kept'],
): { readonly field: DesiredItem['field']; readonly id: string }[] {
  if (kept === null) return [];
  const of = (field: DesiredItem['field'], members: readonly { id: string; externalId: string | null }[]) =>
    members.flatMap(({ id, externalId }) =>
      externalId !== null && kept.has(idKey({ field, externalId })) ? [] : [{ field, id }],
    );
  return [...of('channels', channels?.unlisted ?? []), ...of('monitors', unlisted)];
}

function idsOf({ created, updated, unchanged, channels }: MonitorSetResult): Map<string, string> {
  const members = (['monitors', 'channels'] as const).flatMap((field) => {
    const result = field === 'monitors' ? { created, updated, unchanged } : channels;
    const all = result === undefined ? [] : [...result.created, ...result.updated, ...result.unchanged];
    return all.map(({ id, externalId }) => ({ field, id, externalId }));
  });
  return new Map(
    members.flatMap(({ field, id, externalId }) =>
      id === null || externalId === null ? [] : [[idKey({ field, externalId }), id] as const],
    ),
  );
}
