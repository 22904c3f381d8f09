import { createHash } from 'node:crypto';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { AppError, type FieldError } from '@tocsin/contracts/errors';
import type {
  ChannelSetResult,
  MonitorSet,
  MonitorSetResult,
} from '@tocsin/contracts/monitor-sets/monitor-set';
import type { MonitorInput } from '@tocsin/contracts/monitors/monitor';
import { findRenames } from '@tocsin/core/monitor-sets/find-renames';
import type { SecretBox } from '@tocsin/core/secrets/secret-box';
import { and, eq, or, sql } from 'drizzle-orm';
import { changedFields } from '../database/fields.ts';
import type { Queryable } from '../database/open.ts';
import { arrayOf } from '../database/sql.ts';
import { placeholderErrors, readInput } from '../monitors/monitor-codec.ts';
import { type MonitorRow, monitors } from '../monitors/table.ts';
import type { MonitorWrite } from '../monitors/write-monitors.ts';

type MonitorChange = MonitorWrite & { readonly before: MonitorRow };

/** Maximum errors in a response. */
export const MAX_ERRORS = 100;

const MAX_BATCH_SIZE = 250;

/** Says what a set creates, updates and deletes. */
export interface Plan<Entry, Change, Row> {
  readonly create: readonly Entry[];
  readonly update: readonly Change[];
  readonly delete: readonly Row[];
  readonly unchanged: readonly Row[];
  /** Rows of the source that are not in the set and are kept. */
  readonly unlisted: readonly Row[];
}

export type SetPlan = Plan<MonitorInput & { externalId: string }, MonitorChange, MonitorRow>;

/** Compares a set with the current monitors. @throws AppError conflict for an externalId of another source, validation_failed for "(unreadable)" */
export async function planSet(
  db: Queryable,
  secrets: SecretBox,
  accountId: string,
  set: MonitorSet,
): Promise<SetPlan> {
  const externalIds = set.monitors.map(({ externalId }) => externalId);
  const isNamed = sql`${monitors.externalId} = any(${arrayOf('text', externalIds)})`;
  const rows = await db
    .select()
    .from(monitors)
    .where(and(eq(monitors.accountId, accountId), or(eq(monitors.source, set.source), isNamed)))
    .orderBy(monitors.id);
  const known = new Map(rows.map((row) => [row.externalId, row]));
  requireOwn('monitor', set.source, set.monitors, known);
  const create: (MonitorInput & { externalId: string })[] = [];
  const update: MonitorChange[] = [];
  const unchanged: MonitorRow[] = [];
  const errors: FieldError[] = [];
  for (const [index, entry] of set.monitors.entries()) {
    if (index % MAX_BATCH_SIZE === 0) await nextTurn();
    const input = { ...entry, source: set.source };
    const before = known.get(entry.externalId);
    if (before === undefined) create.push(input);
    else {
      const faults = placeholderErrors(before, input, secrets);
      errors.push(...faults.map(({ path, message }) => ({ path: `monitors.${index}.${path}`, message })));
      const changed = changedFields(readInput(before, secrets).shown, input);
      if (changed.length === 0) unchanged.push(before);
      else update.push({ before, input, changed });
    }
  }
  if (errors.length > 0) {
    throw new AppError(
      'validation_failed',
      'The header values or the bodies of some of these monitors cannot be read. Send the actual values.',
      { errors: errors.slice(0, MAX_ERRORS) },
    );
  }
  const wanted = new Set<string | null>(externalIds);
  const others = rows.filter((row) => !wanted.has(row.externalId));
  return {
    // They are sorted, so that sets of different sources with the same new monitors do not deadlock.
    create: create.toSorted((one, other) => (one.externalId < other.externalId ? -1 : 1)),
    update,
    unchanged,
    delete: set.prune ? others : [],
    unlisted: set.prune ? [] : others,
  };
}

/** Refuses a set that names monitors or channels of other sources, or without a source. @param known by externalId @throws AppError conflict */
export function requireOwn(
  noun: 'monitor' | 'channel',
  source: string,
  entries: readonly { readonly externalId: string }[],
  known: ReadonlyMap<string | null, Pick<MonitorRow, 'id' | 'name' | 'source'>>,
): void {
  const taken: string[] = [];
  const errors = entries.flatMap(({ externalId }, index): FieldError[] => {
    const row = known.get(externalId);
    if (row === undefined || row.source === source) return [];
    taken.push(row.id);
    const owner = row.source === null ? 'which has no source' : `of source "${row.source}"`;
    const message = `"${externalId}" is the externalId of ${noun} ${row.id} ("${row.name}"), ${owner}`;
    return [{ path: `${noun}s.${index}.externalId`, code: 'conflict', message }];
  });
  if (errors.length === 0) return;
  const detail =
    errors.length === 1
      ? `An externalId in this set is used by a ${noun} that belongs to another source, or to none. A set cannot take it over. Set the source of that ${noun} to this source first, or use another externalId in the set.`
      : `${errors.length} externalIds in this set are used by ${noun}s that belong to other sources, or to none. A set cannot take them over. Set their source to this source first, or use other externalIds in the set.`;
  throw new AppError('conflict', detail, {
    errors: errors.slice(0, MAX_ERRORS),
    ...(taken.length === 1 && { conflictingId: taken[0] }),
  });
}

/** Returns a version that identifies a plan by its monitors and their revisions. @param channels the same for channels, or null without `channels` */
export function planVersion(plan: SetPlan, channels: unknown): string {
  const found = [...plan.update.map(({ before }) => before), ...plan.delete];
  const content = [
    plan.create.map(({ externalId }) => externalId),
    plan.update.length,
    found.map(({ id, revision }) => [id, revision]),
    channels,
  ];
  return createHash('sha256').update(JSON.stringify(content)).digest('base64url');
}

/** Describes a plan. @param createdIds in the plan's order, empty for a dry run @param channels null without `channels` */
export function describePlan(
  plan: SetPlan,
  { source, dryRun }: Pick<MonitorSet, 'source' | 'dryRun'>,
  createdIds: readonly string[],
  channels: ChannelSetResult | null,
): MonitorSetResult {
  const changesChannels =
    channels !== null && channels.created.length + channels.updated.length + channels.deleted.length > 0;
  const renames = findRenames(plan.create, [...plan.delete, ...plan.unlisted]);
  return {
    source,
    dryRun,
    changed: plan.create.length + plan.update.length + plan.delete.length > 0 || changesChannels,
    created: plan.create.map((input, index) => {
      const before = renames.get(input);
      return {
        id: createdIds[index] ?? null,
        externalId: input.externalId,
        ...(before && { probablyRenamedFrom: toRenamed(before) }),
      };
    }),
    updated: plan.update.map(({ before, changed, input }) => ({
      id: before.id,
      externalId: input.externalId ?? '',
      fields: [...changed],
    })),
    deleted: plan.delete.map(toMember),
    unchanged: plan.unchanged.map(toMember),
    unlisted: plan.unlisted.map(toMember),
    ...(channels && { channels }),
  };
}

const toMember = ({ id, externalId }: Pick<MonitorRow, 'id' | 'externalId'>) => ({ id, externalId });

const toRenamed = ({ createdAt, status, statusBeforeMaintenance, ...row }: MonitorRow) => ({
  ...toMember(row),
  createdAt: createdAt.toISOString(),
  hasOpenIncident: status === 'DOWN' || statusBeforeMaintenance === 'DOWN',
});
