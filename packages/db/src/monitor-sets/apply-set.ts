import { AppError } from '@tocsin/contracts/errors';
import type { MonitorSet, MonitorSetResult } from '@tocsin/contracts/monitor-sets/monitor-set';
import { sql } from 'drizzle-orm';
import { type Actor, requireSource } from '../audit-log/actor.ts';
import { type AuditRecord, recordAudit } from '../audit-log/record-audit.ts';
import { lockAssignments } from '../assignments/assignments.ts';
import { holdBeforeEnabling } from '../channels/write-channels.ts';
import { EXTERNAL_ID_KEYS, isLockTimeout, violatedUniqueConstraint } from '../database/errors.ts';
import { ADVISORY_LOCKS } from '../database/leader-lease.ts';
import type { DbContext, Transaction } from '../database/open.ts';
import { arrayOf } from '../database/sql.ts';
import { namedRegions, requireRegions } from '../agents/require-regions.ts';
import { type Growth, monitorGrowth, requireQuotas, type WriteContext } from '../accounts/quotas.ts';
import { removeMonitors } from '../monitors/delete-monitors.ts';
import { insertMonitors } from '../monitors/create-monitors.ts';
import { auditMonitor } from '../monitors/monitor-codec.ts';
import { monitors } from '../monitors/table.ts';
import { type WrittenRow, writeMonitors } from '../monitors/write-monitors.ts';
import { describePlan, planSet, planVersion, type SetPlan } from './plan-set.ts';
import {
  changesAssignments,
  channelsToChange,
  channelVersion,
  type ChannelPlan,
  describeChannels,
  enabledBy,
  findListedMonitors,
  planChannels,
  writeChannelPlan,
} from './set-channels.ts';

/** Maximum comparisons of the set while other requests keep changing its monitors. */
const MAX_PLANS = 5;
const LOCK_TIMEOUT = '10s';

export interface AppliedSet {
  readonly result: MonitorSetResult;
  readonly version: string;
  /** Created and changed monitors, with the regions that check them. */
  readonly schedules: readonly { readonly monitorId: string; readonly regions: readonly string[] }[];
  readonly statusChangeIds: readonly string[];
}

/**
 * Makes the monitors and channels of a source match a set, in one transaction. Unchanged ones are not locked. A dry run only reads, so any
 * key may compare any source.
 * @param versions allowed versions of the current plan (see `planVersion`), or null for any
 * @throws AppError source_not_allowed, owner_required (a channel gets another secret), quota_exceeded, conflict (another monitor or channel
 * has an externalId), validation_failed (a channel lists unknown monitors, or a monitor names a region that the account cannot use), precondition_failed, unavailable (another call takes too long)
 */
export async function applySet(
  context: WriteContext,
  actor: Actor,
  set: MonitorSet,
  defaultRegion: string,
  versions: ReadonlySet<string> | null = null,
): Promise<AppliedSet> {
  const { accountId } = actor;
  const { db, secrets } = context;
  const { channels: entries = [] } = set;
  const regions = set.monitors.flatMap(({ externalId, regions }, index) =>
    namedRegions(regions, `monitors.${index}.regions`, ` (externalId "${externalId}")`),
  );
  await requireRegions(db, accountId, context, regions);
  if (!set.dryRun) requireSource(actor, set.source);
  const channelPlan = await planChannels(db, secrets, accountId, set);
  if (set.dryRun) {
    const plan = await planSet(db, secrets, accountId, set);
    const version = requirePlan(plan, channelPlan, versions);
    await findListedMonitors(db, accountId, entries, plan);
    await requireQuotas(db, accountId, context, setGrowth(plan, channelPlan), 'planned');
    const result = describePlan(plan, set, [], channelPlan && describeChannels(channelPlan));
    return { result, version, schedules: [], statusChangeIds: [] };
  }
  await holdBeforeEnabling(db, enabledBy(channelPlan));
  const write = async (assigns: boolean): Promise<AppliedSet | null> =>
    db.transaction(async (tx) => {
      await tx.execute(sql`select set_config('lock_timeout', ${LOCK_TIMEOUT}, true)`);
      const source = sql`hashtext(${`${accountId} ${set.source}`})`;
      await tx.execute(sql`select pg_advisory_xact_lock(${ADVISORY_LOCKS.monitorSets}, ${source})`);
      await lockAssignments(tx, accountId, assigns ? 'exclusive' : 'shared');
      await requireRegions(tx, accountId, context, regions);
      // Channels are locked before monitors, as in `updateChannel`.
      const channelPlan = await lockChannelPlan(tx, context, accountId, set);
      if (channelPlan !== null && changesAssignments(channelPlan) && !assigns) return null;
      const plan = await lockPlan(tx, context, accountId, set);
      const version = requirePlan(plan, channelPlan, versions);
      const scope = { tx, secrets, accountId, defaultRegion };
      const deletedIds = plan.delete.map(({ id }) => id);
      const closed = await removeMonitors(tx, deletedIds);
      const updated = await writeMonitors(scope, plan.update);
      const created = await insertMonitors(scope, plan.create);
      const monitorIds = await findListedMonitors(tx, accountId, entries, null);
      const written =
        channelPlan && (await writeChannelPlan(tx, secrets, actor, channelPlan, set.source, monitorIds));
      const schedules = [...created, ...updated].map(({ row, regions }) => ({ monitorId: row.id, regions }));
      const changed = updated.flatMap(({ statusChange }) => (statusChange?.due ? statusChange.id : []));
      const createdIds = created.map(({ row }) => row.id);
      const result = describePlan(plan, set, createdIds, written && written.result);
      const records = written?.records ?? [];
      await recordAudit(tx, actor, auditSet(set, plan, [...updated, ...created], records));
      await requireQuotas(tx, accountId, context, setGrowth(plan, channelPlan));
      return { result, version, schedules, statusChangeIds: [...closed, ...changed] };
    });
  try {
    const assigns = channelPlan !== null && changesAssignments(channelPlan);
    // Channels may have changed in the meantime, and may have to be assigned after all.
    const applied = (await write(assigns)) ?? (await write(true));
    if (applied === null) throw busy();
    return applied;
  } catch (error) {
    throw setError(error);
  }
}

/** Translates an error of PostgreSQL. Returns any other error unchanged. */
function setError(error: unknown): unknown {
  if (isLockTimeout(error)) return busy(error);
  const noun = EXTERNAL_ID_KEYS[violatedUniqueConstraint(error) ?? ''];
  if (noun === undefined) return error;
  const message = `Another ${noun} has just taken an externalId in this set. Try again.`;
  return new AppError('conflict', message, { cause: error });
}

/** Audits a set. @param written the updated monitors, then the created ones */
function* auditSet(
  { source }: MonitorSet,
  plan: SetPlan,
  written: readonly Pick<WrittenRow, 'row'>[],
  channels: readonly AuditRecord[],
): Iterable<AuditRecord> {
  for (const row of plan.delete) yield* auditMonitor(row, null);
  for (const [index, { row }] of written.entries()) {
    const { before = null, changed = [] } = plan.update[index] ?? {};
    yield* auditMonitor(before, row, changed);
  }
  yield* channels;
  const counts = {
    monitorsCreated: plan.create.length,
    monitorsUpdated: plan.update.length,
    monitorsDeleted: plan.delete.length,
    channelsChanged: new Set(channels.map(({ target }) => target.id)).size,
  };
  const changes = Object.entries(counts).flatMap(([field, to]) => (to > 0 ? { field, from: null, to } : []));
  if (changes.length > 0)
    yield { action: 'set.applied', target: { type: 'set', id: null, name: source }, changes };
}

/** Requires that the plan is one that the client knows. @returns its version @throws AppError precondition_failed */
function requirePlan(
  plan: SetPlan,
  channelPlan: ChannelPlan | null,
  versions: ReadonlySet<string> | null,
): string {
  const version = planVersion(plan, channelPlan && channelVersion(channelPlan));
  if (versions === null || versions.has(version)) return version;
  throw new AppError(
    'precondition_failed',
    'The plan has changed since your dry run. Run it again, and send If-Match with its ETag.',
  );
}

/** Locks the monitors that a plan changes, in id order, and plans again if they changed in the meantime. */
async function lockPlan(tx: Transaction, { secrets }: DbContext, accountId: string, set: MonitorSet) {
  for (let count = 0; count < MAX_PLANS; count += 1) {
    const plan = await planSet(tx, secrets, accountId, set);
    const candidates = [...plan.update.map(({ before }) => before), ...plan.delete];
    if (candidates.length === 0) return plan;
    const ids = candidates.map(({ id }) => id);
    const isCandidate = sql`${monitors.id} = any(${arrayOf('uuid', ids)})`;
    const { id, revision } = monitors;
    const rows = await tx
      .select({ id, revision })
      .from(monitors)
      .where(isCandidate)
      .orderBy(monitors.id)
      .for('no key update');
    const locked = new Map(rows.map(({ id, revision }) => [id, revision]));
    if (candidates.every(({ id, revision }) => locked.get(id) === revision)) return plan;
  }
  throw busy();
}

/** Locks the channels that a plan changes, in id order, and plans again until it changes no others. */
async function lockChannelPlan(tx: Transaction, { secrets }: DbContext, accountId: string, set: MonitorSet) {
  const locked = new Set<string>();
  for (let count = 0; count < MAX_PLANS; count += 1) {
    const plan = await planChannels(tx, secrets, accountId, set);
    const ids = plan === null ? [] : channelsToChange(plan).map(({ id }) => id);
    if (ids.every((id) => locked.has(id))) return plan;
    for (const id of ids) locked.add(id);
    await tx.execute(sql`
      select from channels where id = any(${arrayOf('uuid', ids)}) order by id for no key update`);
  }
  throw busy();
}

function busy(cause?: unknown): AppError {
  return new AppError(
    'unavailable',
    'Other requests are changing monitors or channels of this source. Try again soon.',
    {
      headers: { 'Retry-After': '2' },
      cause,
    },
  );
}

function setGrowth(plan: SetPlan, channelPlan: ChannelPlan | null): Growth {
  const inputs = [...plan.create, ...plan.update.map(({ input }) => input)];
  const after = inputs.map(({ interval, regions }) => ({ intervalSeconds: interval, regions }));
  const before = [...plan.update.map((change) => change.before), ...plan.delete];
  const channels = (channelPlan?.create.length ?? 0) - (channelPlan?.delete.length ?? 0);
  return { ...monitorGrowth(after, before), channels };
}
