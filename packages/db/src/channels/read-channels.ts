import { createHash } from 'node:crypto';
import type { Channel } from '@tocsin/contracts/channels/channel';
import type { SecretBox } from '@tocsin/core/secrets/secret-box';
import { and, desc, eq, isNull, type SQL, sql } from 'drizzle-orm';
import { z } from 'zod';
import { type Actor, requireSource } from '../audit-log/actor.ts';
import { requireFound, requireVersion } from '../database/errors.ts';
import type { Database, Queryable, Transaction } from '../database/open.ts';
import { arrayOf, queryOne, toWire } from '../database/sql.ts';
import { openFields, type SealedFields } from './channel-codec.ts';
import { type ChannelRow, channels } from './table.ts';

/** Columns of a channel's wire record. `toChannel` opens or hides the sealed ones. */
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
  format: channels.format,
  template: channels.template,
  sealedHeaders: channels.sealedHeaders,
  sealedRoutingKey: channels.sealedRoutingKey,
  remindAfter: channels.remindAfter,
  externalId: channels.externalId,
  source: channels.source,
  enabled: channels.enabled,
  disabledReason: channels.disabledReason,
  failingSince: channels.failingSince,
  formatError: sql<string | null>`(
    select d.format_error from deliveries d
    where d.channel_id = ${channels}.id and d.format_error is not null and d.created_at >= ${channels}.updated_at
    order by d.created_at desc limit 1)`,
  createdAt: channels.createdAt,
  updatedAt: channels.updatedAt,
};

/** Condition for the account's channels that are not deleted. */
export function isChannelOf(accountId: string): SQL | undefined {
  return and(eq(channels.accountId, accountId), isNull(channels.deletedAt));
}

function isChannel(accountId: string, id: string): SQL | undefined {
  return and(eq(channels.id, id), isChannelOf(accountId));
}

/** @throws AppError not_found */
export async function findChannelRow(db: Queryable, accountId: string, id: string): Promise<ChannelRow> {
  return requireFound(await db.select().from(channels).where(isChannel(accountId, id)), 'channel');
}

/**
 * Locks a channel for a change. To avoid deadlocks, lock a channel before its deliveries.
 * @param versions the channel must have one of these, see `versionOf`. Null accepts any
 * @throws AppError not_found, source_not_allowed, precondition_failed
 */
export async function lockChannel(
  tx: Transaction,
  actor: Actor,
  id: string,
  versions: ReadonlySet<string> | null = null,
): Promise<ChannelRow> {
  const isThis = isChannel(actor.accountId, id);
  const row = requireFound(await tx.select().from(channels).where(isThis).for('no key update'), 'channel');
  requireSource(actor, row.source);
  if (versions) requireVersion('channel', versionOf(await getChannel(tx, actor.accountId, id)), versions);
  return row;
}

/** Opens sealed values. @param secrets null hides them */
function toChannel<Row extends SealedFields>(
  { sealedHeaders, sealedRoutingKey, ...row }: Row,
  secrets: SecretBox | null,
) {
  return toWire({ ...row, ...openFields({ sealedHeaders, sealedRoutingKey }, secrets) });
}

/**
 * Returns a version of everything that users can change, even where the service changed it. Secrets are left out, so that callers who cannot
 * see them get the same version. A new secret changes `updatedAt`.
 */
export function versionOf(channel: Channel): string {
  const { failingSince: _, formatError: _error, headers: _headers, routingKey: _key, ...versioned } = channel;
  return createHash('sha256').update(JSON.stringify(versioned)).digest('base64url').slice(0, 16);
}

/** Reads a channel by its id or externalId. @param secrets null hides header values and the routing key @throws AppError not_found */
export async function getChannel(
  db: Queryable,
  accountId: string,
  key: string,
  by: 'id' | 'externalId' = 'id',
  secrets: SecretBox | null = null,
): Promise<Channel> {
  const isThis = and(isChannelOf(accountId), eq(channels[by], key));
  const row = requireFound(await db.select(wireColumns).from(channels).where(isThis), 'channel', by);
  return toChannel(row, secrets);
}

/** Lists the account's channels by creation date, then id, descending. @param source null lists those of every source @param secrets null hides header values and routing keys */
export async function listChannels(
  db: Database,
  accountId: string,
  source: string | null = null,
  secrets: SecretBox | null = null,
): Promise<Channel[]> {
  const rows = await db
    .select(wireColumns)
    .from(channels)
    .where(and(isChannelOf(accountId), source === null ? undefined : eq(channels.source, source)))
    .orderBy(desc(channels.createdAt), desc(channels.id));
  return rows.map((row) => toChannel(row, secrets));
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
