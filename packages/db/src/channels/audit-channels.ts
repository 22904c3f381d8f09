import { isDeepStrictEqual } from 'node:util';
import { HIDDEN_SECRET } from '@tocsin/contracts/fields';
import { and, isNull, sql } from 'drizzle-orm';
import { requireAssignmentQuota } from '../assignments/assignments.ts';
import { type Actor, systemActor } from '../audit-log/actor.ts';
import {
  type Audited,
  type AuditRecord,
  changesOf,
  recordAudit,
  recordOf,
} from '../audit-log/record-audit.ts';
import type { Transaction } from '../database/open.ts';
import { arrayOf } from '../database/sql.ts';
import { openFields, type SealedFields } from './channel-codec.ts';
import { wireColumns } from './read-channels.ts';
import { type ChannelRow, channels } from './table.ts';

interface AuditedChannel extends SealedFields {
  /** Fields of the API with hidden secrets. */
  readonly shown: Audited;
}
type AuditedChannels = ReadonlyMap<string, AuditedChannel>;

/** Reads channels for `auditChannels`. @param listsMonitors requires the exclusive lock, because a deleted monitor would look like a change */
export async function readAuditedChannels(
  tx: Transaction,
  ids: readonly string[],
  listsMonitors: boolean,
): Promise<AuditedChannels> {
  const isOne = and(sql`${channels.id} = any(${arrayOf('uuid', ids)})`, isNull(channels.deletedAt));
  const rows = await tx.select(wireColumns).from(channels).where(isOne).orderBy(channels.id);
  return new Map(
    rows.map((row) => {
      const { failingSince: _, formatError: _error, createdAt: _created, updatedAt: _updated, ...rest } = row;
      const { monitorIds, sealedHeaders, sealedRoutingKey, ...fields } = rest;
      const hidden = { ...openFields(row, null), secret: HIDDEN_SECRET };
      const shown = { ...fields, ...(listsMonitors && { monitorIds }), ...hidden };
      return [row.id, { shown, sealedHeaders, sealedRoutingKey }];
    }),
  );
}

/** Audits the changes between two reads of the same channels. */
export function auditChannels(before: AuditedChannels, after: AuditedChannels): AuditRecord[] {
  const ids = [...new Set([...before.keys(), ...after.keys()])];
  return ids.flatMap((id) => {
    const [from, to] = [before.get(id), after.get(id)];
    const isChanged = (field: keyof SealedFields): boolean => !isDeepStrictEqual(from?.[field], to?.[field]);
    const secrets =
      from && to
        ? [
            ...(isChanged('sealedHeaders') ? ['headers'] : []),
            ...(isChanged('sealedRoutingKey') ? ['routingKey'] : []),
          ]
        : [];
    return recordOf('channel', from?.shown ?? null, to?.shown ?? null, secrets);
  });
}

/** Changes locked channels and audits what changed. @param assigns true if the change concerns their monitors, which requires the exclusive lock */
export async function changeChannels<Result>(
  tx: Transaction,
  actor: Actor,
  ids: readonly string[],
  assigns: boolean,
  change: () => Promise<Result>,
): Promise<Result> {
  const before = await readAuditedChannels(tx, ids, assigns);
  const result = await change();
  if (assigns) await requireAssignmentQuota(tx, actor.accountId);
  await recordAudit(tx, actor, auditChannels(before, await readAuditedChannels(tx, ids, assigns)));
  return result;
}

export function auditSecret(
  what: 'secretRevealed' | 'secretRotated',
  { id, name }: Pick<ChannelRow, 'id' | 'name'>,
): AuditRecord {
  const rotation = { field: 'secret', from: HIDDEN_SECRET, to: HIDDEN_SECRET };
  const changes = what === 'secretRotated' ? [rotation] : [];
  return { action: `channel.${what}`, target: { type: 'channel', id, name }, changes };
}

/** Records that the service disabled a channel. Call it last in the transaction (see `recordAudit`). */
export async function recordDisabled(
  tx: Transaction,
  { id, accountId, name }: Pick<ChannelRow, 'id' | 'accountId' | 'name'>,
  disabledReason: string,
): Promise<void> {
  const changes = changesOf({ enabled: true, disabledReason: null }, { enabled: false, disabledReason });
  const target = { type: 'channel', id, name } as const;
  await recordAudit(tx, systemActor(accountId), [{ action: 'channel.disabled', target, changes }]);
}
