import type { Channel } from '@tocsin/contracts/channels/channel';
import { AppError } from '@tocsin/contracts/errors';
import { and, desc, eq, inArray, isNull, sql, type SQL } from 'drizzle-orm';
import type { Database, DbContext, Queryable, Transaction } from '../database/open.ts';
import { monitors } from '../monitors/table.ts';
import { type ChannelRow, channels } from './table.ts';

/** The wire record of a channel: without its secrets. */
function toChannel(row: ChannelRow, monitorIds: readonly string[]): Channel {
  return {
    id: row.id,
    name: row.name,
    url: row.url,
    monitorIds: [...monitorIds],
    allMonitors: row.allMonitors,
    enabled: row.enabled,
    disabledReason: row.disabledReason,
    failingSince: row.failingSince?.toISOString() ?? null,
    createdAt: row.createdAt.toISOString(),
    updatedAt: row.updatedAt.toISOString(),
  };
}

/** An error that says the same for an unknown channel and for another account's. */
export function channelNotFound(): AppError {
  return new AppError('not_found', 'There is no channel with this id.');
}

/** The account's channel with this id. @throws AppError not_found */
export async function findChannelRow(db: Queryable, accountId: string, id: string): Promise<ChannelRow> {
  const [row] = await db.select().from(channels).where(isChannel(accountId, id));
  if (!row) throw channelNotFound();
  return row;
}

/**
 * The same, locked until the transaction ends. Whoever changes a channel and its deliveries locks the channel first, so that
 * two transactions never wait for each other crosswise.
 */
export async function lockChannelRow(tx: Transaction, accountId: string, id: string): Promise<ChannelRow> {
  const [row] = await tx.select().from(channels).where(isChannel(accountId, id)).for('no key update');
  if (!row) throw channelNotFound();
  return row;
}

/** One that was deleted is there for nobody. */
export function isChannel(accountId: string, id: string): ReturnType<typeof and> {
  return and(eq(channels.id, id), eq(channels.accountId, accountId), isNull(channels.deletedAt));
}

/** One channel of the account. @throws AppError not_found */
export async function getChannel(db: Queryable, accountId: string, id: string): Promise<Channel> {
  const [row] = await db
    .select({ channel: channels, monitorIds: monitorIdsOfChannel })
    .from(channels)
    .where(isChannel(accountId, id));
  if (!row) throw channelNotFound();
  return toChannel(row.channel, row.monitorIds);
}

/** Every channel of the account, by creation date, then id, descending. */
export async function listChannels(db: Database, accountId: string): Promise<Channel[]> {
  const rows = await db
    .select({ channel: channels, monitorIds: monitorIdsOfChannel })
    .from(channels)
    .where(and(eq(channels.accountId, accountId), isNull(channels.deletedAt)))
    .orderBy(desc(channels.createdAt), desc(channels.id));
  return rows.map((row) => toChannel(row.channel, row.monitorIds));
}

/** Channels of every account: those that send, those that a person disabled, and those that the service did. */
export interface ChannelCounts {
  readonly enabled: number;
  readonly disabled: number;
  readonly disabledByService: number;
}

export async function countChannels(db: Database): Promise<ChannelCounts> {
  const { rows } = await db.execute<{ enabled: number; disabled: number; by_service: number }>(sql`
    select (count(*) filter (where enabled))::int as enabled,
      (count(*) filter (where not enabled and disabled_reason is null))::int as disabled,
      (count(*) filter (where not enabled and disabled_reason is not null))::int as by_service
    from channels where deleted_at is null`);
  const [row] = rows;
  return {
    enabled: row?.enabled ?? 0,
    disabled: row?.disabled ?? 0,
    disabledByService: row?.by_service ?? 0,
  };
}

/** The current signing secret of a channel. @throws AppError not_found */
export async function revealChannelSecret(
  { db, secrets }: DbContext,
  accountId: string,
  id: string,
): Promise<string> {
  const { sealedSecret } = await findChannelRow(db, accountId, id);
  return secrets.decrypt(sealedSecret);
}

/** The ids of a channel's monitors, in the order of their creation. */
const monitorIdsOfChannel: SQL<string[]> = sql<string[]>`array(
  select a.monitor_id::text from channel_monitors a where a.channel_id = ${channels}.id order by a.monitor_id)`;

/** Which of these ids are not those of monitors of the account. */
export async function findForeignMonitors(
  db: Queryable,
  accountId: string,
  monitorIds: readonly string[],
): Promise<string[]> {
  if (monitorIds.length === 0) return [];
  const owned = await db.select({ id: monitors.id }).from(monitors).where(isOwned(accountId, monitorIds));
  return without(monitorIds, owned);
}

/**
 * Keeps these monitors from being deleted until the transaction ends.
 * @throws AppError validation_failed where the account does not have all of them
 */
export async function holdMonitors(
  tx: Transaction,
  accountId: string,
  monitorIds: readonly string[],
): Promise<void> {
  if (monitorIds.length === 0) return;
  const owned = await tx
    .select({ id: monitors.id })
    .from(monitors)
    .where(isOwned(accountId, monitorIds))
    .orderBy(monitors.id)
    .for('key share');
  const foreign = without(monitorIds, owned);
  if (foreign.length === 0) return;
  throw new AppError('validation_failed', 'These fields are not valid: monitorIds.', {
    errors: foreign.map((id) => ({
      path: `monitorIds.${monitorIds.indexOf(id)}`,
      message: 'is not a monitor of this account',
    })),
  });
}

function isOwned(accountId: string, monitorIds: readonly string[]): SQL | undefined {
  return and(eq(monitors.accountId, accountId), inArray(monitors.id, [...monitorIds]));
}

function without(monitorIds: readonly string[], owned: readonly { id: string }[]): string[] {
  const known = new Set(owned.map(({ id }) => id));
  return monitorIds.filter((id) => !known.has(id));
}
