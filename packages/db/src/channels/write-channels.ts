import { randomBytes } from 'node:crypto';
import type { Channel, ChannelUpdate } from '@tocsin/contracts/channels/channel';
import { AppError } from '@tocsin/contracts/errors';
import { and, eq, notInArray, type SQL, sql } from 'drizzle-orm';
import { v7 as uuidv7 } from 'uuid';
import type { Database, DbContext, Transaction } from '../database/open.ts';
import { clockNow } from '../database/sql.ts';
import {
  hasPendingDeliveries,
  holdAllIfDisabled,
  holdPendingDeliveries,
} from '../deliveries/hold-deliveries.ts';
import {
  channelNotFound,
  findChannelRow,
  getChannel,
  holdMonitors,
  isChannel,
  lockChannelRow,
} from './read-channels.ts';
import { channelMonitors, type ChannelRow, channels } from './table.ts';

/** A new Standard Webhooks secret. */
function generateChannelSecret(): string {
  return `whsec_${randomBytes(24).toString('base64')}`;
}

export interface NewChannel {
  readonly accountId: string;
  readonly name: string;
  /** HTTPS; the caller has validated it. */
  readonly url: string;
  readonly monitorIds: readonly string[];
  readonly allMonitors?: boolean;
}

/**
 * Creates a webhook channel and assigns it to monitors of its account.
 * @returns its id and its signing secret
 * @throws AppError validation_failed where the account has not all of the monitors
 */
export async function createChannel(
  context: DbContext,
  input: NewChannel,
): Promise<{ id: string; secret: string }> {
  const id = uuidv7();
  const secret = generateChannelSecret();
  const monitorIds = [...new Set(input.monitorIds)];
  await context.db.transaction(async (tx) => {
    await tx.insert(channels).values({
      id,
      accountId: input.accountId,
      name: input.name,
      url: input.url,
      sealedSecret: context.secrets.encrypt(secret),
      allMonitors: input.allMonitors ?? false,
    });
    if (monitorIds.length === 0) return;
    await holdMonitors(tx, input.accountId, monitorIds);
    await tx.insert(channelMonitors).values(monitorIds.map((monitorId) => ({ channelId: id, monitorId })));
  });
  return { id, secret };
}

/** How long a request holds the backlog of a channel that it enables. Clients wait for it. */
const HOLD_WITHIN_MS = 5_000;

/**
 * Changes the given fields of a channel. Disabling holds what it still had to send (see `holdPendingDeliveries`); enabling, and
 * another URL, forget the failures so far (design §4 "Delivery").
 * @param holding ends the holding of a backlog before the channel is enabled
 * @throws AppError not_found; validation_failed where the account has not all of the monitors; unavailable where the channel is
 * to be enabled and its backlog is longer than could be held: what was held stays held, so the next request gets further
 */
export async function updateChannel(
  db: Database,
  accountId: string,
  id: string,
  update: ChannelUpdate,
  holding: AbortSignal = AbortSignal.timeout(HOLD_WITHIN_MS),
): Promise<Channel> {
  if (update.enabled === true) {
    const { enabled } = await findChannelRow(db, accountId, id);
    // In transactions of its own: refusing the update must not undo it.
    if (!enabled) await holdAllIfDisabled(db, id, holding);
  }
  return db.transaction(async (tx) => {
    const row = await lockChannelRow(tx, accountId, id);
    if (update.enabled === true && !row.enabled) await requireNothingPending(tx, id);
    if (update.monitorIds) await assignMonitors(tx, row, [...new Set(update.monitorIds)]);
    if (Object.keys(update).length > 0) {
      await tx.update(channels).set(changesOf(row, update)).where(eq(channels.id, id));
    }
    if (update.enabled === false) await holdPendingDeliveries(tx, id);
    return getChannel(tx, accountId, id);
  });
}

/** Nothing that was due while the channel was disabled may be sent when it is enabled: that takes a redelivery. */
async function requireNothingPending(tx: Transaction, id: string): Promise<void> {
  if (!(await hasPendingDeliveries(tx, id))) return;
  throw new AppError('unavailable', 'The deliveries of this channel are still being held. Try again soon.', {
    headers: { 'Retry-After': '10' },
  });
}

type Changes = Partial<Omit<ChannelRow, 'updatedAt'>> & { updatedAt: SQL };

function changesOf(row: ChannelRow, update: ChannelUpdate): Changes {
  const { monitorIds: _, ...columns } = update;
  const startsAfresh = update.enabled === true || (update.url !== undefined && update.url !== row.url);
  return {
    ...definedOnly(columns),
    ...(update.enabled !== undefined && { disabledReason: null }),
    ...(startsAfresh && { failingSince: null }),
    updatedAt: clockNow,
  };
}

function definedOnly(columns: Omit<ChannelUpdate, 'monitorIds'>): Partial<ChannelRow> {
  return Object.fromEntries(Object.entries(columns).filter(([, value]) => value !== undefined));
}

/** Replaces the whole list. Monitors are locked before assignments, as where a monitor is deleted. */
async function assignMonitors(tx: Transaction, channel: ChannelRow, monitorIds: string[]): Promise<void> {
  await holdMonitors(tx, channel.accountId, monitorIds);
  const unwanted = monitorIds.length > 0 ? notInArray(channelMonitors.monitorId, monitorIds) : undefined;
  await tx.delete(channelMonitors).where(and(eq(channelMonitors.channelId, channel.id), unwanted));
  if (monitorIds.length === 0) return;
  await tx
    .insert(channelMonitors)
    .values(monitorIds.map((monitorId) => ({ channelId: channel.id, monitorId })))
    .onConflictDoNothing();
}

/** How long the previous secret goes on signing, so that receivers can change over one after the other. */
const OVERLAP_HOURS = 24;

/**
 * Gives a channel a new secret; the one until now stays valid for 24 hours. A rotation during the overlap ends the validity
 * of the secret before that one.
 * @throws AppError not_found
 */
export async function rotateChannelSecret(
  { db, secrets }: DbContext,
  accountId: string,
  id: string,
): Promise<{ secret: string; previousSecretExpiresAt: Date }> {
  const secret = generateChannelSecret();
  const [rotated] = await db
    .update(channels)
    .set({
      sealedSecret: secrets.encrypt(secret),
      sealedPreviousSecret: sql`${channels.sealedSecret}`,
      previousSecretExpiresAt: sql`${clockNow} + make_interval(hours => ${OVERLAP_HOURS})`,
      updatedAt: clockNow,
    })
    .where(isChannel(accountId, id))
    .returning({ expiresAt: channels.previousSecretExpiresAt });
  if (!rotated?.expiresAt) throw channelNotFound();
  return { secret, previousSecretExpiresAt: rotated.expiresAt };
}

/**
 * Deletes a channel: at once it is gone for everybody and sends nothing more. Its deliveries and their log may be many:
 * housekeeping deletes them, then the row (`deleteFinished`).
 * @throws AppError not_found
 */
export async function deleteChannel(db: Database, accountId: string, id: string): Promise<void> {
  await db.transaction(async (tx) => {
    await lockChannelRow(tx, accountId, id);
    await tx
      .update(channels)
      .set({ deletedAt: clockNow, enabled: false, allMonitors: false })
      .where(eq(channels.id, id));
    await tx.delete(channelMonitors).where(eq(channelMonitors.channelId, id));
  });
}

/** The longest pause of the retry schedule: 8 h and a fifth. A last attempt that is older than this was followed by none. */
const LONGEST_PAUSE_HOURS = 10;

/**
 * Disables the channels that have failed for 72 hours without one success (design §4 "Delivery"); what they still had to send is
 * then to be held: `holdForDisabledChannels`. By the clock, not by an attempt: the last attempt of a lone delivery comes earlier.
 * But attempts must have been made to the end of the 72 hours: while every notifier is away, nobody knows how a channel is.
 * @returns the ids of the channels it disabled
 */
export async function disableExhaustedChannels(db: Database): Promise<string[]> {
  const { rows } = await db.execute<{ id: string }>(sql`
    update channels set enabled = false, disabled_reason = 'Every attempt of the last 72 hours failed.'
    where enabled and failing_since <= now() - interval '72 hours'
      and last_failed_at >= failing_since + make_interval(hours => ${72 - LONGEST_PAUSE_HOURS})
    returning id`);
  return rows.map(({ id }) => id);
}
