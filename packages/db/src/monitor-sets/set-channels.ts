import { isDeepStrictEqual } from 'node:util';
import type { ChannelSetEntry } from '@tocsin/contracts/channels/channel';
import { AppError, type FieldError } from '@tocsin/contracts/errors';
import type { ChannelSetResult, MonitorSet } from '@tocsin/contracts/monitor-sets/monitor-set';
import { findRenames } from '@tocsin/core/monitor-sets/find-renames';
import type { SecretBox } from '@tocsin/core/secrets/secret-box';
import { and, eq, getTableColumns, or, sql } from 'drizzle-orm';
import { requireAssignmentQuota } from '../assignments/assignments.ts';
import { matchOwner } from '../assignments/match-selectors.ts';
import type { Actor } from '../audit-log/actor.ts';
import type { AuditRecord } from '../audit-log/record-audit.ts';
import { auditChannels, auditSecret, readAuditedChannels } from '../channels/audit-channels.ts';
import { openFields } from '../channels/channel-codec.ts';
import { isChannelOf } from '../channels/read-channels.ts';
import { type ChannelRow, channels } from '../channels/table.ts';
import { rotateTo } from '../channels/channel-secrets.ts';
import { insertChannel, removeChannels, sealUpdate, writeChannel } from '../channels/write-channels.ts';
import { pick } from '../database/fields.ts';
import type { Queryable, Transaction } from '../database/open.ts';
import { arrayOf } from '../database/sql.ts';
import { findByExternalIds } from '../monitors/monitor-row.ts';
import { MAX_ERRORS, type Plan, requireOwn, type SetPlan } from './plan-set.ts';

/** A channel with the externalIds of its listed monitors, which are null for monitors without one. */
type FoundChannel = ChannelRow & { readonly listed: readonly (string | null)[] };

interface ChannelChange {
  readonly before: FoundChannel;
  readonly entry: ChannelSetEntry;
  readonly changed: readonly (keyof ChannelSetEntry)[];
}

export type ChannelPlan = Plan<ChannelSetEntry, ChannelChange, FoundChannel>;

/** Compares the channels of a set, if it has any, with the current ones. @throws AppError conflict for an externalId of another source */
export async function planChannels(
  db: Queryable,
  secrets: SecretBox,
  accountId: string,
  { source, channels: entries, prune }: MonitorSet,
): Promise<ChannelPlan | null> {
  if (entries === undefined) return null;
  const keys = entries.map(({ externalId }) => externalId);
  const isNamed = sql`${channels.externalId} = any(${arrayOf('text', keys)})`;
  const listed = sql<(string | null)[]>`array(
    select m.external_id from channel_monitors a join monitors m on m.id = a.monitor_id
    where a.channel_id = ${channels}.id and a.listed)`;
  const rows = await db
    .select({ ...getTableColumns(channels), listed })
    .from(channels)
    .where(and(isChannelOf(accountId), or(eq(channels.source, source), isNamed)))
    .orderBy(channels.id);
  const known = new Map(rows.map((row) => [row.externalId, row]));
  requireOwn('channel', source, entries, known);
  const compared = entries.flatMap((entry): ChannelChange[] => {
    const before = known.get(entry.externalId);
    return before === undefined ? [] : [{ before, entry, changed: changedFields(before, entry, secrets) }];
  });
  const wanted = new Set<string | null>(keys);
  const others = rows.filter((row) => !wanted.has(row.externalId));
  return {
    create: entries.filter(({ externalId }) => !known.has(externalId)),
    update: compared.filter(({ changed }) => changed.length > 0),
    unchanged: compared.filter(({ changed }) => changed.length === 0).map(({ before }) => before),
    delete: prune ? others : [],
    unlisted: prune ? [] : others,
  };
}

/** Lists the fields that an entry changes. Without a secret or `enabled`, the current ones stay. */
function changedFields(
  before: FoundChannel,
  { secret, enabled, monitorExternalIds, ...fields }: ChannelSetEntry,
  secrets: SecretBox,
): (keyof ChannelSetEntry)[] {
  const names = Object.keys(fields) as (keyof typeof fields)[];
  const shown = { ...before, ...openFields(before, secrets) };
  const wanted = new Set<string | null>(monitorExternalIds);
  const listsSame =
    before.listed.length === wanted.size && before.listed.every((externalId) => wanted.has(externalId));
  return [
    ...names.filter((name) => !isDeepStrictEqual(shown[name], fields[name])),
    ...(listsSame ? [] : (['monitorExternalIds'] as const)),
    ...(secret === undefined || isSecret(before, secret, secrets) ? [] : (['secret'] as const)),
    ...(enabled === undefined || enabled === before.enabled ? [] : (['enabled'] as const)),
  ];
}

/** Reports whether the secret is the stored one. Also false if no key decrypts the stored secret. */
function isSecret({ sealedSecret }: ChannelRow, secret: string, secrets: SecretBox): boolean {
  try {
    return secrets.decrypt(sealedSecret) === secret;
  } catch {
    return false;
  }
}

export function channelsToChange(plan: ChannelPlan): FoundChannel[] {
  return [...plan.update.map(({ before }) => before), ...plan.delete];
}

export function enabledBy(plan: ChannelPlan | null): FoundChannel[] {
  return (plan?.update ?? []).flatMap(({ before, entry }) => (entry.enabled === true ? before : []));
}

const ASSIGNING: ReadonlySet<string> = new Set(['selector', 'allMonitors', 'monitorExternalIds']);

/** Reports whether a plan changes the monitors of channels, which requires the exclusive lock of the assignments. */
export function changesAssignments({ create, update, delete: deleted }: ChannelPlan): boolean {
  return (
    create.length + deleted.length > 0 ||
    update.some(({ changed }) => changed.some((field) => ASSIGNING.has(field)))
  );
}

/** Returns the data that the version of a plan depends on (see `planVersion`). */
export function channelVersion(plan: ChannelPlan): unknown {
  const found = channelsToChange(plan).map(
    ({ listed, sealedSecret, sealedHeaders, sealedRoutingKey, ...row }) => [
      pick(row, [
        'id',
        'name',
        'url',
        'selector',
        'events',
        'allMonitors',
        'enabled',
        'format',
        'template',
        'remindAfter',
      ]),
      [sealedSecret, sealedHeaders, sealedRoutingKey],
      listed.map(String).toSorted((one, other) => (one < other ? -1 : 1)),
    ],
  );
  return [plan.create.map(({ externalId }) => externalId), plan.update.length, found];
}

/** Maps externalIds to the ids of listed monitors, except those that the plan creates. @throws AppError validation_failed */
export async function findListedMonitors(
  db: Queryable,
  accountId: string,
  entries: readonly ChannelSetEntry[],
  plan: SetPlan | null,
): Promise<ReadonlyMap<string, string>> {
  const names = [...new Set(entries.flatMap(({ monitorExternalIds }) => monitorExternalIds))];
  const found = await findByExternalIds(db, accountId, names);
  for (const { externalId } of plan?.delete ?? []) if (externalId !== null) found.delete(externalId);
  const known = new Set([...found.keys(), ...(plan?.create ?? []).map(({ externalId }) => externalId)]);
  const errors = entries.flatMap(({ monitorExternalIds }, index) =>
    monitorExternalIds.flatMap((externalId, at): FieldError[] => {
      if (known.has(externalId)) return [];
      const message = `"${externalId}" is not the externalId of a monitor in this set, or of another monitor in the account`;
      return [{ path: `channels.${index}.monitorExternalIds.${at}`, code: 'not_found', message }];
    }),
  );
  if (errors.length === 0) return found;
  throw new AppError('validation_failed', 'Some channels list monitors that do not exist.', {
    errors: errors.slice(0, MAX_ERRORS),
  });
}

/** Writes a plan after the monitors. Requires the exclusive lock if it `changesAssignments`. @param monitorIds by externalId */
export async function writeChannelPlan(
  tx: Transaction,
  secrets: SecretBox,
  actor: Actor,
  plan: ChannelPlan,
  source: string,
  monitorIds: ReadonlyMap<string, string>,
): Promise<{ readonly result: ChannelSetResult; readonly records: readonly AuditRecord[] }> {
  const toInput = ({ monitorExternalIds, ...fields }: ChannelSetEntry) => ({
    ...fields,
    monitorIds: monitorExternalIds.flatMap((externalId) => monitorIds.get(externalId) ?? []),
  });
  const changedIds = channelsToChange(plan).map(({ id }) => id);
  const assigns = changesAssignments(plan);
  const before = await readAuditedChannels(tx, changedIds, assigns);
  if (plan.delete.length > 0) await removeChannels(tx, plan.delete);
  const selecting: string[] = [];
  for (const { before, entry, changed } of plan.update) {
    const isChanged = (field: string): boolean =>
      changed.some((name) => field === (name === 'monitorExternalIds' ? 'monitorIds' : name));
    const { secret, ...fields } = toInput(entry);
    const update = Object.fromEntries(Object.entries(fields).filter(([field]) => isChanged(field)));
    const rotation = secret !== undefined && isChanged('secret') ? rotateTo(secrets, actor, secret) : null;
    await writeChannel(tx, before, sealUpdate(before, update, secrets), rotation);
    if (isChanged('selector') || isChanged('allMonitors')) selecting.push(before.id);
  }
  const created: ChannelSetResult['created'] = [];
  for (const entry of plan.create) {
    const { id, secret } = await insertChannel(tx, secrets, actor, { ...toInput(entry), source });
    created.push({ id, externalId: entry.externalId, secret: entry.secret === undefined ? secret : null });
    if (entry.selector !== null) selecting.push(id);
  }
  if (selecting.length > 0) await matchOwner(tx, actor.accountId, 'channel', ...selecting);
  if (assigns) await requireAssignmentQuota(tx, actor.accountId);
  const createdIds = created.flatMap(({ id }) => id ?? []);
  const after = await readAuditedChannels(tx, [...changedIds, ...createdIds], assigns);
  const rotated = plan.update.filter(({ changed }) => changed.includes('secret'));
  const rotations = rotated.map(({ before }) => auditSecret('secretRotated', before));
  const result = describeChannels(plan);
  return {
    result: {
      ...result,
      created: created.map((one, index) => Object.assign({}, result.created[index], one)),
    },
    records: [...auditChannels(before, after), ...rotations],
  };
}

/** Returns the result of a plan that is not applied. */
export function describeChannels(plan: ChannelPlan): ChannelSetResult {
  const renames = findRenames(plan.create, [...plan.delete, ...plan.unlisted]);
  return {
    created: plan.create.map((entry) => {
      const before = renames.get(entry);
      const created = { id: null, externalId: entry.externalId, secret: null };
      return { ...created, ...(before && { probablyRenamedFrom: toMember(before) }) };
    }),
    updated: plan.update.map(({ before, entry, changed }) => ({
      id: before.id,
      externalId: entry.externalId,
      fields: [...changed],
    })),
    deleted: plan.delete.map(toMember),
    unchanged: plan.unchanged.map(toMember),
    unlisted: plan.unlisted.map(toMember),
  };
}

const toMember = ({ id, externalId }: ChannelRow) => ({ id, externalId });
