import { createHash } from 'node:crypto';
import type { Channel } from '@tocsin/contracts/channels/channel';
import { and, desc, eq, isNull, type SQL, sql } from 'drizzle-orm';
import { z } from 'zod';
import { requireFound } from '../database/errors.ts';
import type { Database, Queryable } from '../database/open.ts';
import { arrayOf, queryOne, toWire } from '../database/sql.ts';
import { type ChannelRow, channels } from './table.ts';

/** Columns of a channel's wire record, which has no secrets. */
export const wireColumns = {
  id: channels.id,
  name: channels.name,
  url: channels.url,
  /** In the order of the monitors' creation. */
  monitorIds: sql<string[]>`array(
    select a.monitor_id::text from channel_monitors a where a.channel_id = ${channels}.id and a.listed order by a.monitor_id)`,
  allMonitors: channels.allMonitors,
  selector: channels.selector,
  events: channels.events,
  externalId: channels.externalId,
  source: channels.source,
  enabled: channels.enabled,
  disabledReason: channels.disabledReason,
  failingSince: channels.failingSince,
  createdAt: channels.createdAt,
  updatedAt: channels.updatedAt,
};

/** Condition for the account's channels that are not deleted. */
export function isChannelOf(accountId: string): SQL | undefined {
  return and(eq(channels.accountId, accountId), isNull(channels.deletedAt));
}

export function isChannel(accountId: string, id: string): SQL | undefined {
  return and(eq(channels.id, id), isChannelOf(accountId));
}

/** Finds a channel. @param lock for changes. To avoid deadlocks, lock a channel before its deliveries. @throws AppError not_found */
export async function findChannelRow(
  db: Queryable,
  accountId: string,
  id: string,
  lock?: 'no key update',
): Promise<ChannelRow> {
  const query = db.select().from(channels).where(isChannel(accountId, id));
  return requireFound(await (lock === undefined ? query : query.for(lock)), 'channel');
}

/** Returns the version of what users can change, and of what the service changed instead: `enabled` and the list of monitors. */
export function versionOf(channel: Channel): string {
  const { failingSince: _, ...versioned } = channel;
  return createHash('sha256').update(JSON.stringify(versioned)).digest('base64url').slice(0, 16);
}

/** @throws AppError not_found */
export async function getChannelByExternalId(
  db: Queryable,
  accountId: string,
  externalId: string,
): Promise<Channel> {
  const isThis = and(isChannelOf(accountId), eq(channels.externalId, externalId));
  const rows = await db.select(wireColumns).from(channels).where(isThis);
  return toWire(requireFound(rows, 'channel', 'externalId'));
}

/** @throws AppError not_found */
export async function getChannel(db: Queryable, accountId: string, id: string): Promise<Channel> {
  const rows = await db.select(wireColumns).from(channels).where(isChannel(accountId, id));
  return toWire(requireFound(rows, 'channel'));
}

/** Lists the account's channels by creation date, then id, descending. @param source null lists those of every source */
export async function listChannels(
  db: Database,
  accountId: string,
  source: string | null = null,
): Promise<Channel[]> {
  const rows = await db
    .select(wireColumns)
    .from(channels)
    .where(and(isChannelOf(accountId), source === null ? undefined : eq(channels.source, source)))
    .orderBy(desc(channels.createdAt), desc(channels.id));
  return rows.map(toWire);
}

/** Returns the URLs of the account's channels with these externalIds, by externalId. */
export async function findReceivers(
  db: Database,
  accountId: string,
  externalIds: readonly string[],
): Promise<ReadonlyMap<string | null, string>> {
  if (externalIds.length === 0) return new Map();
  const isNamed = sql`${channels.externalId} = any(${arrayOf('text', externalIds)})`;
  const rows = await db
    .select({ externalId: channels.externalId, url: channels.url })
    .from(channels)
    .where(and(isChannelOf(accountId), isNamed));
  return new Map(rows.map(({ externalId, url }) => [externalId, url]));
}

const channelCounts = z.object({ enabled: z.number(), disabled: z.number(), disabledByService: z.number() });

/** Counts the channels of every account. `disabled` counts channels that a user disabled. */
export async function countChannels(db: Database): Promise<z.output<typeof channelCounts>> {
  return queryOne(db, channelCounts)`
    select (count(*) filter (where enabled))::int as enabled,
      (count(*) filter (where not enabled and disabled_reason is null))::int as disabled,
      (count(*) filter (where not enabled and disabled_reason is not null))::int as disabled_by_service
    from channels where deleted_at is null`;
}
