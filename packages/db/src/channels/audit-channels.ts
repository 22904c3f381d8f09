import { systemActor } from '../audit-log/actor.ts';
import { changesOf, recordAudit } from '../audit-log/record-audit.ts';
import type { Transaction } from '../database/open.ts';
import type { ChannelRow } from './table.ts';

/** Records that the service disabled a channel. Call it last in the transaction, see `recordAudit`. */
export async function recordDisabled(
  tx: Transaction,
  { id, accountId, name }: Pick<ChannelRow, 'id' | 'accountId' | 'name'>,
  disabledReason: string,
): Promise<void> {
  const changes = changesOf({ enabled: true, disabledReason: null }, { enabled: false, disabledReason });
  const target = { type: 'channel', id, name } as const;
  await recordAudit(tx, systemActor(accountId), [{ action: 'channel.disabled', target, changes }]);
}
