import {
  type Channel,
  type ChannelInput,
  type ChannelUpdate,
  missingFields,
} from '@tocsin/contracts/channels/channel';
import { AppError } from '@tocsin/contracts/errors';
import type { SecretBox } from '@tocsin/core/secrets/secret-box';
import { and, eq, inArray, sql } from 'drizzle-orm';
import { type Actor, requireSource } from '../audit-log/actor.ts';
import { requireQuotas, type WriteContext } from '../accounts/quotas.ts';
import { recordAudit } from '../audit-log/record-audit.ts';
import { listMonitorsOf, lockAssignments, requireAssignmentQuota } from '../assignments/assignments.ts';
import { matchOwner } from '../assignments/match-selectors.ts';
import { rethrowConflict } from '../database/errors.ts';
import { changedFields, merge } from '../database/fields.ts';
import type { Database, DbContext, Transaction } from '../database/open.ts';
import { clockNow, firstOf, laterThan } from '../database/sql.ts';
import { countedTime } from '../deliveries/delivery-outages.ts';
import {
  hasPendingDeliveries,
  holdAllIfDisabled,
  holdPendingDeliveries,
} from '../deliveries/hold-deliveries.ts';
import { findResult, forgetResults, storeResult } from '../idempotency-keys/stored-results.ts';
import { findUnknownMonitors, validateMonitorIds } from '../monitors/monitor-row.ts';
import { auditChannels, changeChannels, readAuditedChannels, recordDisabled } from './audit-channels.ts';
import { sealFields } from './channel-codec.ts';
import { generateSecret, readFirstSecret, type Rotation } from './channel-secrets.ts';
import { forEachChannel } from './each-channel.ts';
import { getChannel, lockChannel, versionOf } from './read-channels.ts';
import { channelMonitors, type ChannelRow, channels } from './table.ts';

/** A request that enables a channel may first spend this long on holding its backlog. */
const HOLD_WITHIN_MS = 5_000;
/** Longest delay of the retry schedule, 8 h plus 20 % jitter, rounded up. By then, another attempt should have followed. */
const LONGEST_PAUSE_HOURS = 10;

export interface NewChannel extends Readonly<
  Pick<ChannelInput, 'name' | 'url'> & Partial<Omit<ChannelInput, 'monitorIds'>>
> {
  readonly monitorIds: readonly string[];
  readonly enabled?: boolean | undefined;
}

interface CreatedChannel {
  readonly id: string;
  readonly secret: string;
}

/** Stored for repeated requests, without the URL and the secrets, because they may be credentials. */
interface StoredChannel {
  readonly channel: Omit<Channel, 'url' | 'headers' | 'routingKey'>;
  readonly version: string;
  readonly secretFingerprint: string;
}

interface NewlyCreated extends CreatedChannel {
  readonly channel: Channel;
  /** See `versionOf`. */
  readonly version: string;
  readonly isReplayed: boolean;
}

/**
 * Creates a channel. A repeated request gets the channel and the secret as they were created.
 * @param validate checks what may have changed since, so a repeated request skips it
 * @throws AppError by `validate`, source_not_allowed, validation_failed for unknown monitors, quota_exceeded, request_in_flight,
 * idempotency_key_reused, conflict if the externalId is taken or the secret of a repeated request has been replaced
 */
export async function createChannel(
  { db, secrets, quotas }: WriteContext,
  actor: Actor,
  channel: NewChannel,
  { key, validate }: { readonly key?: string | undefined; readonly validate?: () => Promise<unknown> } = {},
): Promise<NewlyCreated> {
  const { accountId, type, id, sources } = actor;
  const { url, headers = null, routingKey = null, selector, externalId, source = null } = channel;
  requireSource(actor, source);
  // Only the same actor may repeat the request, because the response has a secret.
  const request = { accountId, key, request: { channel, type, id, sources }, secrets };
  const replay = async (tx: Transaction): Promise<NewlyCreated | null> => {
    const stored = await findResult<StoredChannel>(tx, request);
    if (stored === null) return null;
    const { version, secretFingerprint } = stored;
    const { id } = stored.channel;
    const secret = await readFirstSecret(tx, secrets, actor, id, secretFingerprint);
    return {
      id,
      secret,
      version,
      channel: { ...stored.channel, url, headers, routingKey },
      isReplayed: true,
    };
  };
  if (validate) {
    const replayed = await db.transaction(replay);
    if (replayed) return replayed;
    await validate();
  }
  return db
    .transaction(async (tx) => {
      const replayed = await replay(tx);
      if (replayed) return replayed;
      await lockAssignments(tx, accountId, 'exclusive');
      const created = await insertChannel(tx, secrets, actor, channel);
      if (selector) await matchOwner(tx, accountId, 'channel', created.id);
      await requireAssignmentQuota(tx, accountId);
      const wire = await getChannel(tx, accountId, created.id, 'id', secrets);
      const version = versionOf(wire);
      const { url: _, headers: _headers, routingKey: _key, ...given } = wire;
      const result = { channel: given, version, secretFingerprint: secrets.fingerprint(created.secret) };
      await storeResult(tx, request, created.id, result satisfies StoredChannel);
      const audited = await readAuditedChannels(tx, [created.id], true);
      await recordAudit(tx, actor, auditChannels(new Map(), audited));
      await requireQuotas(tx, accountId, { quotas }, { channels: 1 });
      return { ...created, channel: wire, version, isReplayed: false };
    })
    .catch(rethrowConflict(db, accountId, externalId));
}

/** Creates a channel without the monitors that its selector matches. Requires the exclusive lock. @throws AppError as `createChannel` */
export async function insertChannel(
  tx: Transaction,
  secrets: SecretBox,
  { accountId }: Actor,
  { monitorIds, secret = generateSecret(), headers, routingKey, ...fields }: NewChannel,
): Promise<CreatedChannel> {
  const sealed = sealFields(
    { sealedHeaders: null, sealedRoutingKey: null },
    { headers, routingKey },
    secrets,
  );
  const values = { accountId, ...fields, ...sealed, sealedSecret: secrets.encrypt(secret) };
  const row = firstOf(await tx.insert(channels).values(values).returning());
  await assignMonitors(tx, row, monitorIds);
  return { id: row.id, secret };
}

/**
 * Changes the given fields. Disabling a channel holds its deliveries. Enabling it, or a new URL, resets its failures.
 * @param versions the channel must have one of these, see `versionOf`. Null accepts any
 * @throws AppError as `createChannel`, not_found, precondition_failed, unavailable if the backlog could not be held in time (the next
 * request continues)
 */
export async function updateChannel(
  { db, secrets }: DbContext,
  actor: Actor,
  id: string,
  update: ChannelUpdate,
  { versions = null, holding }: { versions?: ReadonlySet<string> | null; holding?: AbortSignal } = {},
): Promise<Channel> {
  const { accountId } = actor;
  const { monitorIds, selector, externalId } = update;
  const lock = async (tx: Transaction): Promise<ChannelRow> => {
    const row = await lockChannel(tx, actor, id, versions);
    if (update.source !== undefined) requireSource(actor, update.source);
    return row;
  };
  if (update.enabled === true) await holdBeforeEnabling(db, [await db.transaction(lock)], holding);
  return db
    .transaction(async (tx) => {
      const reselects = selector !== undefined || update.allMonitors !== undefined;
      const reassigns = monitorIds !== undefined || reselects;
      if (reassigns) await lockAssignments(tx, accountId, 'exclusive');
      const row = await lock(tx);
      return changeChannels(tx, actor, [id], reassigns, async () => {
        await writeChannel(tx, row, sealUpdate(row, update, secrets));
        if (reselects) await matchOwner(tx, accountId, 'channel', id);
        return getChannel(tx, accountId, id, 'id', secrets);
      });
    })
    .catch(rethrowConflict(db, accountId, externalId));
}

/** An update with sealed secrets. */
export type ChannelColumns = Omit<ChannelUpdate, 'headers' | 'routingKey'> &
  Partial<Pick<ChannelRow, 'sealedHeaders' | 'sealedRoutingKey'>>;

/** Seals the secrets of an update. @throws AppError validation_failed if the format lacks what it requires afterwards */
export function sealUpdate(
  row: ChannelRow,
  { headers, routingKey, ...update }: ChannelUpdate,
  secrets: SecretBox,
): ChannelColumns {
  const { format, template, sealedRoutingKey } = row;
  const before = { format, template, routingKey: sealedRoutingKey };
  const errors = missingFields(
    merge(before, { format: update.format, template: update.template, routingKey }),
  );
  if (errors.length > 0) {
    const paths = errors.map(({ path }) => path).join(', ');
    throw new AppError('validation_failed', `These fields are invalid: ${paths}.`, { errors });
  }
  return { ...update, ...sealFields(row, { headers, routingKey }, secrets) };
}

/** Adds monitors to the list of a channel and returns how many were new. Ignores unknown ids. @throws AppError not_found, source_not_allowed */
export async function addMonitorsToChannel(
  db: Database,
  actor: Actor,
  id: string,
  monitorIds: readonly string[],
): Promise<number> {
  const { accountId } = actor;
  return db.transaction(async (tx) => {
    await lockAssignments(tx, accountId, 'exclusive');
    const row = await lockChannel(tx, actor, id);
    const unknown = new Set(await findUnknownMonitors(tx, accountId, monitorIds));
    const { monitorIds: listed } = await getChannel(tx, accountId, id);
    const wanted = new Set([...listed, ...monitorIds.filter((monitorId) => !unknown.has(monitorId))]);
    await changeChannels(tx, actor, [id], true, () => writeChannel(tx, row, { monitorIds: [...wanted] }));
    return wanted.size - listed.length;
  });
}

/** Holds due deliveries of disabled channels in separate transactions, so that they stay held if the channels are not enabled. */
export async function holdBeforeEnabling(
  db: Database,
  rows: readonly ChannelRow[],
  holding: AbortSignal = AbortSignal.timeout(HOLD_WITHIN_MS),
): Promise<void> {
  for (const { id, enabled } of rows) if (!enabled) await holdAllIfDisabled(db, id, holding);
}

/** Changes a locked channel without matching its selector. Other monitors require the exclusive lock. @throws AppError as `updateChannel` */
export async function writeChannel(
  tx: Transaction,
  row: ChannelRow,
  { monitorIds, ...update }: ChannelColumns,
  rotation: Rotation | null = null,
): Promise<void> {
  const { id } = row;
  const { enabled, url } = update;
  // Deliveries that were due while the channel was disabled are sent only after a redelivery.
  if (enabled === true && !row.enabled && (await hasPendingDeliveries(tx, id))) {
    const message = 'The deliveries of this channel are still being held. Try again soon.';
    throw new AppError('unavailable', message, { headers: { 'Retry-After': '10' } });
  }
  const isListChanged = monitorIds !== undefined && (await assignMonitors(tx, row, monitorIds));
  const resets = {
    ...(enabled !== undefined && { disabledReason: null }),
    ...((enabled === true || (url !== undefined && url !== row.url)) && {
      failingSince: null,
      pausedUntil: null,
    }),
  };
  const fields = { ...update, ...resets, ...rotation };
  // An update that changes nothing must not change the version either.
  if (isListChanged || changedFields(row, fields).length > 0)
    await tx
      .update(channels)
      .set({ ...fields, updatedAt: laterThan(channels.updatedAt) })
      .where(eq(channels.id, id));
  if (enabled === false) await holdPendingDeliveries(tx, id);
}

/** Replaces the whole list. @returns whether it changed @throws AppError validation_failed if the account does not have all of the monitors */
async function assignMonitors(
  tx: Transaction,
  { id: channelId, accountId }: Pick<ChannelRow, 'id' | 'accountId'>,
  monitorIds: readonly string[],
): Promise<boolean> {
  const ids = [...new Set(monitorIds)];
  const errors = await validateMonitorIds(tx, accountId, ids);
  if (errors.length > 0) {
    throw new AppError('validation_failed', 'These fields are invalid: monitorIds.', { errors });
  }
  return listMonitorsOf(tx, accountId, 'channel', channelId, ids);
}

/** Deletes a channel at once. `deleteFinished` later deletes its deliveries, then the row. @throws AppError not_found, source_not_allowed */
export async function deleteChannel(
  db: Database,
  actor: Actor,
  id: string,
  versions: ReadonlySet<string> | null = null,
): Promise<void> {
  await db.transaction(async (tx) => {
    await lockAssignments(tx, actor.accountId, 'exclusive');
    const row = await lockChannel(tx, actor, id, versions);
    await changeChannels(tx, actor, [id], true, () => removeChannels(tx, [row]));
  });
}

/** Deletes locked channels. Requires the exclusive lock of the assignments. */
export async function removeChannels(tx: Transaction, rows: readonly ChannelRow[]): Promise<void> {
  const ids = rows.map(({ id }) => id);
  const deleted = { deletedAt: clockNow, enabled: false, allMonitors: false };
  await tx.update(channels).set(deleted).where(inArray(channels.id, ids));
  await tx.delete(channelMonitors).where(inArray(channelMonitors.channelId, ids));
  await forgetResults(tx, ids);
}

/**
 * Disables the channels that have failed for 72 hours without a success, not counting outages. A channel may have only one delivery, whose
 * last attempt is earlier. Without attempts in the last ten hours, all notifiers may have been down. @throws as `forEachChannel`
 */
export async function disableExhaustedChannels(
  db: Database,
  onDisabled: (channelId: string) => void,
  signal?: AbortSignal,
): Promise<void> {
  const isExhausted = sql`enabled and failing_since <= now() - interval '72 hours'
    and ${countedTime(sql`failing_since`)} >= interval '72 hours'
    and last_failed_at >= failing_since + make_interval(hours => ${72 - LONGEST_PAUSE_HOURS})`;
  const disabledReason = 'Every attempt of the last 72 hours failed.';
  const disable = async (id: string): Promise<void> => {
    const row = await db.transaction(async (tx) => {
      const update = tx.update(channels).set({ enabled: false, disabledReason });
      const [disabled] = await update.where(and(eq(channels.id, id), isExhausted)).returning();
      if (disabled) await recordDisabled(tx, disabled, disabledReason);
      return disabled;
    });
    if (row) onDisabled(id);
  };
  await forEachChannel(db, isExhausted, disable, signal);
}
