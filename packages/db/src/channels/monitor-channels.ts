import type { MonitorChannels } from '@tocsin/contracts/channels/channel';
import { AppError } from '@tocsin/contracts/errors';
import { and, inArray } from 'drizzle-orm';
import { lockAssignments } from '../assignments/assignments.ts';
import { type Actor, requireSource } from '../audit-log/actor.ts';
import type { Database, Transaction } from '../database/open.ts';
import { findMonitorRow } from '../monitors/monitor-row.ts';
import { changeChannels } from './audit-channels.ts';
import { getChannel, isChannelOf } from './read-channels.ts';
import { type ChannelRow, channels } from './table.ts';
import { writeChannel } from './write-channels.ts';

/** Adds a monitor to the lists of some channels, and removes it from others. @throws AppError not_found, source_not_allowed, validation_failed */
export async function updateMonitorChannels(
  db: Database,
  actor: Actor,
  monitorId: string,
  change: MonitorChannels,
): Promise<void> {
  const { accountId } = actor;
  const add = new Set(change.add);
  const ids = [...change.add, ...change.remove];
  await db.transaction(async (tx) => {
    await lockAssignments(tx, accountId, 'exclusive');
    await findMonitorRow(tx, accountId, monitorId);
    const rows = await lockChannels(tx, accountId, ids);
    refuseUnknown(change, rows);
    await changeChannels(tx, actor, ids, true, async () => {
      for (const row of rows) {
        requireSource(actor, row.source);
        const { monitorIds } = await getChannel(tx, accountId, row.id);
        const others = monitorIds.filter((id) => id !== monitorId);
        await writeChannel(tx, row, { monitorIds: add.has(row.id) ? [...others, monitorId] : others });
      }
    });
  });
}

function lockChannels(tx: Transaction, accountId: string, ids: readonly string[]): Promise<ChannelRow[]> {
  const isOne = and(isChannelOf(accountId), inArray(channels.id, [...ids]));
  return tx.select().from(channels).where(isOne).orderBy(channels.id).for('no key update');
}

function refuseUnknown(change: MonitorChannels, rows: readonly ChannelRow[]): void {
  const known = new Set(rows.map(({ id }) => id));
  const errors = (['add', 'remove'] as const).flatMap((field) =>
    change[field].flatMap((id, index) =>
      known.has(id) ? [] : [{ path: `${field}.${index}`, message: 'is not a channel of this account' }],
    ),
  );
  if (errors.length === 0) return;
  throw new AppError('validation_failed', 'These fields are invalid: add, remove.', { errors });
}
