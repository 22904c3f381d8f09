import type { Channel, ChannelUpdate } from '@tocsin/contracts/channel';
import { AppError } from '@tocsin/contracts/errors';
import { and, eq, notInArray, type SQL } from 'drizzle-orm';
import { clockNow } from '../database/columns.ts';
import type { Database, Transaction } from '../database/open.ts';
import {
  hasPendingDeliveries,
  holdAllIfDisabled,
  holdPendingDeliveries,
} from '../deliveries/hold-pending-deliveries.ts';
import { holdMonitors } from './assigned-monitors.ts';
import { findChannelRow, lockChannelRow } from './find-channel-row.ts';
import { getChannel } from './get-channel.ts';
import { channelMonitors, channels, type ChannelRow } from './table.ts';

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
