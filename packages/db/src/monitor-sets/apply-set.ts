import { AppError } from '@tocsin/contracts/errors';
import type { MonitorSet, MonitorSetResult } from '@tocsin/contracts/monitor-sets/monitor-set';
import { sql } from 'drizzle-orm';
import { brokenUniqueConstraint, isLockTimeout } from '../database/errors.ts';
import { ADVISORY_LOCKS } from '../database/leader-lease.ts';
import type { DbContext, Transaction } from '../database/open.ts';
import { arrayOf } from '../database/sql.ts';
import { scheduleOf } from '../monitors/create-monitor.ts';
import { removeMonitors } from '../monitors/delete-monitors.ts';
import { insertMonitors } from '../monitors/insert-monitors.ts';
import type { MonitorSchedule } from '../monitors/insert-monitors.ts';
import { rewriteMonitors } from '../monitors/rewrite-monitors.ts';
import { type MonitorRow, monitors } from '../monitors/table.ts';
import { describePlan, planSet, planVersion, type SetPlan } from './plan-set.ts';

/** How often the set is compared again where others change its monitors meanwhile. */
const MOST_PLANS = 5;
const LOCK_TIMEOUT = '10s';

export interface AppliedSet {
  readonly result: MonitorSetResult;
  /** See `planVersion`. */
  readonly version: string;
  /** Of the monitors that were created or changed. */
  readonly schedules: readonly MonitorSchedule[];
  /** Status changes whose deliveries are due. */
  readonly statusChangeIds: readonly string[];
}

/**
 * Makes the monitors of a source what a set says, in one transaction (docs/api.md "Sets of monitors"): all of it or nothing. Two calls for
 * one source take turns. Monitors that stay as they are, are not locked: their checks are recorded meanwhile.
 * @param versions of plans, one of which must be what is to be done now; null: any
 * @throws AppError conflict (an externalId is another's), precondition_failed, unavailable (another call takes too long)
 */
export async function applySet(
  context: DbContext,
  accountId: string,
  set: MonitorSet,
  defaultRegion: string,
  versions: ReadonlySet<string> | null = null,
): Promise<AppliedSet> {
  if (set.dryRun) {
    const plan = await planSet(context.db, context.secrets, accountId, set);
    const version = requirePlan(plan, versions);
    return { result: describePlan(plan, set), version, schedules: [], statusChangeIds: [] };
  }
  return context.db
    .transaction(async (tx) => {
      await lockSource(tx, accountId, set.source);
      const plan = await lockPlan(tx, context, accountId, set);
      const version = requirePlan(plan, versions);
      return { version, ...(await carryOut(tx, context, accountId, plan, set, defaultRegion)) };
    })
    .catch((error: unknown) => {
      throw knownError(error) ?? error;
    });
}

async function lockSource(tx: Transaction, accountId: string, source: string): Promise<void> {
  await tx.execute(sql`select set_config('lock_timeout', ${LOCK_TIMEOUT}, true)`);
  await tx.execute(
    sql`select pg_advisory_xact_lock(${ADVISORY_LOCKS.monitorSets}, hashtext(${`${accountId} ${source}`}))`,
  );
}

/** @returns the version of the plan. @throws AppError precondition_failed */
function requirePlan(plan: SetPlan, versions: ReadonlySet<string> | null): string {
  const version = planVersion(plan);
  if (versions === null || versions.has(version)) return version;
  throw new AppError(
    'precondition_failed',
    'Not the same is to be done any more as when you asked: ask again by a dry run, and send If-Match with its ETag.',
  );
}

/** Locks what a plan changes, in the order of ids as everybody does, and plans again where it was changed meanwhile. */
async function lockPlan(
  tx: Transaction,
  { secrets }: DbContext,
  accountId: string,
  set: MonitorSet,
): Promise<SetPlan> {
  for (let count = 0; count < MOST_PLANS; count += 1) {
    const plan = await planSet(tx, secrets, accountId, set);
    const candidates = [...plan.update.map(({ before }) => before), ...plan.delete];
    if (candidates.length === 0) return plan;
    const locked = await lockRows(tx, candidates);
    if (candidates.every(({ id, revision }) => locked.get(id)?.revision === revision)) {
      // A check may have moved the status since.
      const update = plan.update.map((rewrite) => ({
        ...rewrite,
        before: locked.get(rewrite.before.id) ?? rewrite.before,
      }));
      return { ...plan, update };
    }
  }
  throw busy();
}

async function lockRows(tx: Transaction, rows: readonly MonitorRow[]): Promise<Map<string, MonitorRow>> {
  const ids = arrayOf(
    'uuid',
    rows.map(({ id }) => id),
  );
  const locked = await tx
    .select()
    .from(monitors)
    .where(sql`${monitors.id} = any(${ids})`)
    .orderBy(monitors.id)
    .for('no key update');
  return new Map(locked.map((row) => [row.id, row]));
}

async function carryOut(
  tx: Transaction,
  { secrets }: DbContext,
  accountId: string,
  plan: SetPlan,
  set: MonitorSet,
  defaultRegion: string,
): Promise<Omit<AppliedSet, 'version'>> {
  await removeMonitors(
    tx,
    plan.delete.map(({ id }) => id),
  );
  const rewritten = await rewriteMonitors(tx, secrets, plan.update, defaultRegion);
  const created = await insertMonitors(tx, secrets, accountId, plan.create, defaultRegion);
  return {
    result: describePlan(
      plan,
      set,
      created.map(({ row }) => row.id),
    ),
    schedules: [...created, ...rewritten].map(scheduleOf),
    statusChangeIds: rewritten.flatMap(({ statusChange }) =>
      statusChange?.due === true ? [statusChange.id] : [],
    ),
  };
}

function knownError(error: unknown): AppError | null {
  if (isLockTimeout(error)) return busy(error);
  if (brokenUniqueConstraint(error) !== 'monitors_external_id_key') return null;
  return new AppError('conflict', 'Another monitor has just taken an externalId of this set. Try again.', {
    cause: error,
  });
}

function busy(cause?: unknown): AppError {
  return new AppError('unavailable', 'Others are changing monitors of this source. Try again soon.', {
    headers: { 'Retry-After': '2' },
    cause,
  });
}
