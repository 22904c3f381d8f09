import { randomBytes } from 'node:crypto';
import type { Channel, ChannelUpdate } from '@tocsin/contracts/channels/channel';
import { AppError } from '@tocsin/contracts/errors';
import { and, eq, notInArray, sql } from 'drizzle-orm';
import { v7 as uuidv7 } from 'uuid';
import type { Database, DbContext, Transaction } from '../database/open.ts';
import { clockNow, queryIds } from '../database/sql.ts';
import {
  hasPendingDeliveries,
  holdAllIfDisabled,
  holdPendingDeliveries,
} from '../deliveries/hold-deliveries.ts';
import { findUnknownMonitors, unknownMonitorErrors } from '../monitors/monitor-row.ts';
import { channelNotFound, findChannelRow, getChannel, isChannel } from './read-channels.ts';
import { channelMonitors, type ChannelRow, channels } from './table.ts';

/** How long a request that enables a channel may hold its backlog, while the client waits. */
const HOLD_WITHIN_MS = 5_000;
/** How long the previous secret keeps signing, so that receivers can switch one after the other. */
const OVERLAP_HOURS = 24;
/** The longest pause of the retry schedule: 8 h and a fifth. A last attempt that is older than this was not followed by another. */
const LONGEST_PAUSE_HOURS = 10;

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
 * @throws AppError validation_failed if the account does not have all of the monitors
 */
export async function createChannel(
  { db, secrets }: DbContext,
  { monitorIds, allMonitors = false, ...fields }: NewChannel,
): Promise<{ id: string; secret: string }> {
  const id = uuidv7();
  const secret = generateSecret();
  await db.transaction(async (tx) => {
    await tx.insert(channels).values({ id, ...fields, allMonitors, sealedSecret: secrets.encrypt(secret) });
    await assignMonitors(tx, { id, accountId: fields.accountId }, monitorIds);
  });
  return { id, secret };
}

/** A new Standard Webhooks secret. */
function generateSecret(): string {
  return `whsec_${randomBytes(24).toString('base64')}`;
}

/**
 * Changes the given fields of a channel. Disabling it holds its pending deliveries (see `holdPendingDeliveries`). Enabling it, and
 * another URL, forget the failures so far.
 * @param holding ends the holding of a backlog before the channel is enabled
 * @throws AppError not_found; validation_failed if the account does not have all of the monitors; unavailable if the channel is to be
 * enabled and its backlog could not be held in time: the next request continues
 */
export async function updateChannel(
  db: Database,
  accountId: string,
  id: string,
  { monitorIds, ...update }: ChannelUpdate,
  holding: AbortSignal = AbortSignal.timeout(HOLD_WITHIN_MS),
): Promise<Channel> {
  const { enabled, url } = update;
  if (enabled === true) {
    const before = await findChannelRow(db, accountId, id);
    // In transactions of its own: they stay committed if the update is refused.
    if (!before.enabled) await holdAllIfDisabled(db, id, holding);
  }
  return db.transaction(async (tx) => {
    const row = await findChannelRow(tx, accountId, id, 'no key update');
    if (enabled === true && !row.enabled) await requireNothingPending(tx, id);
    if (monitorIds) await assignMonitors(tx, row, monitorIds);
    if (monitorIds || Object.keys(update).length > 0) {
      await tx
        .update(channels)
        .set({
          ...update,
          ...(enabled !== undefined && { disabledReason: null }),
          ...((enabled === true || (url !== undefined && url !== row.url)) && { failingSince: null }),
          updatedAt: clockNow,
        })
        .where(eq(channels.id, id));
    }
    if (enabled === false) await holdPendingDeliveries(tx, id);
    return getChannel(tx, accountId, id);
  });
}

/** Nothing that was due while the channel was disabled may be sent once it is enabled: that takes a redelivery. */
async function requireNothingPending(tx: Transaction, id: string): Promise<void> {
  if (!(await hasPendingDeliveries(tx, id))) return;
  throw new AppError('unavailable', 'The deliveries of this channel are still being held. Try again soon.', {
    headers: { 'Retry-After': '10' },
  });
}

/** Replaces the whole list. Monitors are locked before assignments, as when a monitor is deleted. */
async function assignMonitors(
  tx: Transaction,
  { id: channelId, accountId }: Pick<ChannelRow, 'id' | 'accountId'>,
  monitorIds: readonly string[],
): Promise<void> {
  const ids = [...new Set(monitorIds)];
  const unknown = await findUnknownMonitors(tx, accountId, ids, 'key share');
  if (unknown.length > 0) {
    throw new AppError('validation_failed', 'These fields are invalid: monitorIds.', {
      errors: unknownMonitorErrors(ids, unknown),
    });
  }
  const unwanted = ids.length > 0 ? notInArray(channelMonitors.monitorId, ids) : undefined;
  await tx.delete(channelMonitors).where(and(eq(channelMonitors.channelId, channelId), unwanted));
  if (ids.length === 0) return;
  await tx
    .insert(channelMonitors)
    .values(ids.map((monitorId) => ({ channelId, monitorId })))
    .onConflictDoNothing();
}

/**
 * Gives a channel a new secret. The present one stays valid for 24 hours. A rotation within that time ends the validity of the secret
 * before it.
 * @throws AppError not_found
 */
export async function rotateChannelSecret(
  { db, secrets }: DbContext,
  accountId: string,
  id: string,
): Promise<{ secret: string; previousSecretExpiresAt: Date }> {
  const secret = generateSecret();
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
 * Deletes a channel: it disappears and sends nothing more at once. It may have many deliveries: `deleteFinished` deletes them later, and
 * then the row.
 * @throws AppError not_found
 */
export async function deleteChannel(db: Database, accountId: string, id: string): Promise<void> {
  await db.transaction(async (tx) => {
    await findChannelRow(tx, accountId, id, 'no key update');
    await tx
      .update(channels)
      .set({ deletedAt: clockNow, enabled: false, allMonitors: false })
      .where(eq(channels.id, id));
    await tx.delete(channelMonitors).where(eq(channelMonitors.channelId, id));
  });
}

/**
 * Disables the channels that have failed for 72 hours without one success; `holdForDisabledChannels` then holds their deliveries. By
 * the clock instead of by an attempt, since the last attempt of a lone delivery comes earlier. Attempts must have been made until the end
 * of the 72 hours: while every notifier is down, the state of a channel is unknown.
 * @returns the ids of the channels it disabled
 */
export async function disableExhaustedChannels(db: Database): Promise<string[]> {
  return queryIds(db)`
    update channels set enabled = false, disabled_reason = 'Every attempt of the last 72 hours failed.'
    where enabled and failing_since <= now() - interval '72 hours'
      and last_failed_at >= failing_since + make_interval(hours => ${72 - LONGEST_PAUSE_HOURS})
    returning id`;
}
