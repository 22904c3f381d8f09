import { randomBytes } from 'node:crypto';
import type { Channel, ChannelInput, ChannelUpdate } from '@tocsin/contracts/channels/channel';
import { AppError } from '@tocsin/contracts/errors';
import { eq, sql } from 'drizzle-orm';
import type { Actor } from '../audit-log/actor.ts';
import { listMonitorsOf, lockAssignments, matchOwner } from '../assignments/assignments.ts';
import { notFound } from '../database/errors.ts';
import type { Database, DbContext, Transaction } from '../database/open.ts';
import { clockNow, firstOf, queryColumn } from '../database/sql.ts';
import {
  hasPendingDeliveries,
  holdAllIfDisabled,
  holdPendingDeliveries,
} from '../deliveries/hold-deliveries.ts';
import { validateMonitorIds } from '../monitors/monitor-row.ts';
import { findChannelRow, getChannel, isChannel } from './read-channels.ts';
import { channelMonitors, type ChannelRow, channels } from './table.ts';

/** How long a request that enables a channel may spend holding its backlog while the client waits. */
const HOLD_WITHIN_MS = 5_000;
/** How long the previous secret keeps signing, so that receivers can switch one after the other. */
const OVERLAP_HOURS = 24;
/** The longest pause of the retry schedule, rounded up: 8 h plus 20 % jitter. After it, another attempt should have followed. */
const LONGEST_PAUSE_HOURS = 10;

/** A validated channel. */
export interface NewChannel extends Readonly<
  Pick<ChannelInput, 'name' | 'url'> & Partial<Pick<ChannelInput, 'allMonitors' | 'selector' | 'events'>>
> {
  readonly monitorIds: readonly string[];
}

/** Creates a webhook channel. @throws AppError validation_failed if the account does not have all of the monitors */
export async function createChannel(
  { db, secrets }: DbContext,
  { accountId }: Actor,
  { monitorIds, ...fields }: NewChannel,
): Promise<{ id: string; secret: string }> {
  const secret = generateSecret();
  return db.transaction(async (tx) => {
    await lockAssignments(tx, accountId, 'exclusive');
    const values = { accountId, ...fields, sealedSecret: secrets.encrypt(secret) };
    const row = firstOf(await tx.insert(channels).values(values).returning());
    await assignMonitors(tx, row, monitorIds);
    if (fields.selector) await matchOwner(tx, accountId, 'channel', row.id);
    return { id: row.id, secret };
  });
}

/** A new Standard Webhooks secret. */
function generateSecret(): string {
  return `whsec_${randomBytes(24).toString('base64')}`;
}

/**
 * Changes the given fields of a channel. Disabling it holds its pending deliveries. Enabling it, or a new URL, resets its failures.
 * @param holding limits how long the backlog is held before the channel is enabled
 * @throws AppError not_found; validation_failed if the account does not have all of the monitors; unavailable if the backlog of a channel
 * to enable could not be held in time: the next request continues
 */
export async function updateChannel(
  db: Database,
  actor: Actor,
  id: string,
  { monitorIds, ...update }: ChannelUpdate,
  holding: AbortSignal = AbortSignal.timeout(HOLD_WITHIN_MS),
): Promise<Channel> {
  const { accountId } = actor;
  const { enabled, url } = update;
  if (enabled === true) {
    const before = await findChannelRow(db, accountId, id);
    // In transactions of its own: they stay committed if the update is refused.
    if (!before.enabled) await holdAllIfDisabled(db, id, holding);
  }
  return db.transaction(async (tx) => {
    if (monitorIds || update.selector !== undefined) await lockAssignments(tx, accountId, 'exclusive');
    const row = await findChannelRow(tx, accountId, id, 'no key update');
    // What was due while the channel was disabled is sent only after a redelivery.
    if (enabled === true && !row.enabled && (await hasPendingDeliveries(tx, id))) {
      const message = 'The deliveries of this channel are still being held. Try again soon.';
      throw new AppError('unavailable', message, { headers: { 'Retry-After': '10' } });
    }
    if (monitorIds) await assignMonitors(tx, row, monitorIds);
    if (monitorIds || Object.keys(update).length > 0) {
      const isReset = enabled === true || (url !== undefined && url !== row.url);
      const resets = {
        ...(enabled !== undefined && { disabledReason: null }),
        ...(isReset && { failingSince: null }),
      };
      const values = { ...update, ...resets, updatedAt: clockNow };
      await tx.update(channels).set(values).where(eq(channels.id, id));
    }
    if (update.selector !== undefined) await matchOwner(tx, accountId, 'channel', id);
    if (enabled === false) await holdPendingDeliveries(tx, id);
    return getChannel(tx, accountId, id);
  });
}

/** Replaces the whole list. @throws AppError validation_failed if the account does not have all of the monitors */
async function assignMonitors(
  tx: Transaction,
  { id: channelId, accountId }: Pick<ChannelRow, 'id' | 'accountId'>,
  monitorIds: readonly string[],
): Promise<void> {
  const ids = [...new Set(monitorIds)];
  const errors = await validateMonitorIds(tx, accountId, ids);
  if (errors.length > 0) {
    throw new AppError('validation_failed', 'These fields are invalid: monitorIds.', { errors });
  }
  await listMonitorsOf(tx, accountId, 'channel', channelId, ids);
}

/** Rotates a secret. The current one stays valid for 24 hours; an older one is dropped at once. @throws AppError not_found */
export async function rotateChannelSecret(
  { db, secrets }: DbContext,
  actor: Actor,
  id: string,
): Promise<{ secret: string; previousSecretExpiresAt: Date }> {
  const { accountId } = actor;
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
  if (!rotated?.expiresAt) throw notFound('channel');
  return { secret, previousSecretExpiresAt: rotated.expiresAt };
}

/** Deletes a channel at once; `deleteFinished` later deletes its deliveries, and then the row. @throws AppError not_found */
export async function deleteChannel(db: Database, actor: Actor, id: string): Promise<void> {
  const { accountId } = actor;
  await db.transaction(async (tx) => {
    await lockAssignments(tx, accountId, 'exclusive');
    await findChannelRow(tx, accountId, id, 'no key update');
    const deleted = { deletedAt: clockNow, enabled: false, allMonitors: false };
    await tx.update(channels).set(deleted).where(eq(channels.id, id));
    await tx.delete(channelMonitors).where(eq(channelMonitors.channelId, id));
  });
}

/**
 * Disables the channels that have failed for 72 hours without one success, and returns their ids. A lone delivery's last attempt comes
 * before the end of the 72 hours. Without attempts in the last ten of them, every notifier may have been down.
 */
export async function disableExhaustedChannels(db: Database): Promise<string[]> {
  return queryColumn(db)`
    update channels set enabled = false, disabled_reason = 'Every attempt of the last 72 hours failed.'
    where enabled and failing_since <= now() - interval '72 hours'
      and last_failed_at >= failing_since + make_interval(hours => ${72 - LONGEST_PAUSE_HOURS})
    returning id`;
}
