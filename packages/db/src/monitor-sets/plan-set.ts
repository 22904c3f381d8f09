import { createHash } from 'node:crypto';
import { setImmediate as turn } from 'node:timers/promises';
import { AppError, type FieldError } from '@tocsin/contracts/errors';
import type { MonitorSet, MonitorSetResult } from '@tocsin/contracts/monitor-sets/monitor-set';
import type { MonitorInput } from '@tocsin/contracts/monitors/monitor';
import type { SecretBox } from '@tocsin/core/secrets/secret-box';
import { and, eq, or, sql } from 'drizzle-orm';
import type { Queryable } from '../database/open.ts';
import { arrayOf } from '../database/sql.ts';
import { placeholderErrors, toShownInput } from '../monitors/monitor-codec.ts';
import { changedFields, type Rewrite } from '../monitors/rewrite-monitors.ts';
import { type MonitorRow, monitors } from '../monitors/table.ts';

/** Faults that one response names. */
const MOST_FAULTS = 100;

/** Monitors that are compared before the process does something else. */
const COMPARED_AT_ONCE = 250;

/** What makes the monitors of a source what a set says. */
export interface SetPlan {
  readonly create: readonly (MonitorInput & { externalId: string })[];
  readonly update: readonly Rewrite[];
  readonly delete: readonly MonitorRow[];
  readonly unchanged: readonly MonitorRow[];
  /** Of the source, not in the set, and kept. */
  readonly unlisted: readonly MonitorRow[];
}

/**
 * Compares a set with the monitors as they are, without locking any.
 * @throws AppError conflict, where monitors of another source, or of none, have an externalId of the set; validation_failed, where
 * "(unreadable)" was sent back
 */
export async function planSet(
  db: Queryable,
  secrets: SecretBox,
  accountId: string,
  set: MonitorSet,
): Promise<SetPlan> {
  const rows = await readRows(db, accountId, set);
  const known = new Map(rows.map((row) => [row.externalId, row]));
  refuseForeign(set, known);
  const create: (MonitorInput & { externalId: string })[] = [];
  const update: Rewrite[] = [];
  const unchanged: MonitorRow[] = [];
  const errors: FieldError[] = [];
  for (const [index, entry] of set.monitors.entries()) {
    if (index % COMPARED_AT_ONCE === 0) await turn();
    const input = { ...entry, source: set.source };
    const before = known.get(entry.externalId);
    if (before === undefined) create.push(input);
    else {
      const faults = placeholderErrors(before, input, secrets);
      errors.push(...faults.map(({ path, message }) => ({ path: `monitors.${index}.${path}`, message })));
      const changed = changedFields(toShownInput(before, secrets), input);
      if (changed.length === 0) unchanged.push(before);
      else update.push({ before, input, changed });
    }
  }
  if (errors.length > 0) {
    throw new AppError(
      'validation_failed',
      'The header values or the bodies of some of these monitors cannot be read. Send the true values.',
      { errors: errors.slice(0, MOST_FAULTS) },
    );
  }
  const wanted = new Set<string | null>(set.monitors.map(({ externalId }) => externalId));
  const others = rows.filter((row) => !wanted.has(row.externalId));
  return {
    // In one order for all: two sets of different sources that want the same new ones never wait for each other.
    create: create.toSorted((one, other) => (one.externalId < other.externalId ? -1 : 1)),
    update,
    unchanged,
    delete: set.prune ? others : [],
    unlisted: set.prune ? [] : others,
  };
}

/** Those of the source, and whoever else has an externalId of the set. */
async function readRows(db: Queryable, accountId: string, set: MonitorSet): Promise<MonitorRow[]> {
  const externalIds = arrayOf(
    'text',
    set.monitors.map(({ externalId }) => externalId),
  );
  return db
    .select()
    .from(monitors)
    .where(
      and(
        eq(monitors.accountId, accountId),
        or(eq(monitors.source, set.source), sql`${monitors.externalId} = any(${externalIds})`),
      ),
    )
    .orderBy(monitors.id);
}

function refuseForeign(set: MonitorSet, known: ReadonlyMap<string | null, MonitorRow>): void {
  const errors = set.monitors.flatMap(({ externalId }, index): FieldError[] => {
    const row = known.get(externalId);
    if (row === undefined || row.source === set.source) return [];
    const owner = row.source === null ? 'which has no source' : `of source "${row.source}"`;
    const message = `"${externalId}" is the externalId of monitor ${row.id} ("${row.name}"), ${owner}`;
    return [{ path: `monitors.${index}.externalId`, message }];
  });
  if (errors.length === 0) return;
  const detail =
    errors.length === 1
      ? 'A monitor of another source, or of none, has an externalId of this set.'
      : `${errors.length} monitors of other sources, or of none, have an externalId of this set.`;
  throw new AppError(
    'conflict',
    `${detail} No set takes over what is not its own: give the monitor this source first, or another externalId.`,
    { errors: errors.slice(0, MOST_FAULTS) },
  );
}

/** What tells a plan from every other: which monitors it makes, changes and deletes, and what those it finds are now. */
export function planVersion(plan: SetPlan): string {
  const found = [...plan.update.map(({ before }) => before), ...plan.delete];
  const said = [
    plan.create.map(({ externalId }) => externalId),
    plan.update.length,
    found.map(({ id, revision }) => [id, revision]),
  ];
  return createHash('sha256').update(JSON.stringify(said)).digest('base64url');
}

/** What a plan does. @param createdIds of what it has made, in its order; empty before that */
export function describePlan(
  plan: SetPlan,
  { source, dryRun }: Pick<MonitorSet, 'source' | 'dryRun'>,
  createdIds: readonly string[] = [],
): MonitorSetResult {
  return {
    source,
    dryRun,
    changed: plan.create.length + plan.update.length + plan.delete.length > 0,
    created: plan.create.map(({ externalId }, index) => ({ id: createdIds[index] ?? null, externalId })),
    updated: plan.update.map(({ before, changed, input }) => ({
      id: before.id,
      externalId: input.externalId ?? '',
      fields: [...changed],
    })),
    deleted: plan.delete.map(toMember),
    unchanged: plan.unchanged.map(toMember),
    unlisted: plan.unlisted.map(toMember),
  };
}

function toMember({ id, externalId }: MonitorRow): MonitorSetResult['deleted'][number] {
  return { id, externalId };
}
