import { setImmediate as nextTurn } from 'node:timers/promises';
import { labelTexts } from '@tocsin/contracts/labels/labels';
import type { Selector } from '@tocsin/contracts/labels/selector';
import { matchesSelector } from '@tocsin/contracts/labels/selector-syntax';
import { isSourceAllowed } from '@tocsin/contracts/labels/sources';
import { sql, type SQL } from 'drizzle-orm';
import { z } from 'zod';
import { ADVISORY_LOCKS } from '../database/leader-lease.ts';
import type { Database, Queryable, Transaction } from '../database/open.ts';
import { arrayOf, query, queryColumn, tableOf } from '../database/sql.ts';
import type { MonitorRow } from '../monitors/table.ts';

/* Which monitors a channel or a maintenance window has by its selector (ADR 17). */

/** Labels and values compared between two turns of the event loop. */
const MAX_COMPARISONS = 20_000;

/** The tables of assignments, and what a row assigns a monitor to. */
const TABLES = {
  channel: { table: sql.raw('channel_monitors'), owner: sql.raw('channel_id') },
  window: { table: sql.raw('maintenance_window_monitors'), owner: sql.raw('window_id') },
} as const;
type Kind = keyof typeof TABLES;

const ownerRow = z.object({
  kind: z.enum(['channel', 'window']),
  id: z.string(),
  /** Validated when it was written. */
  selector: z.custom<Selector>(),
  sources: z.array(z.string()).nullable(),
});
type Owner = z.output<typeof ownerRow>;

/** What a selector decides by. */
type Labeled = Pick<MonitorRow, 'id' | 'labels' | 'source'>;

const pairRow = z.object({ ownerId: z.string(), monitorId: z.string() });
type Pair = z.output<typeof pairRow>;
const matchedRow = pairRow.extend({ listed: z.boolean() });

/**
 * Locks the assignments of an account until the transaction ends. Every transaction that changes them does so before it locks a row.
 * `shared`: to create, relabel or delete monitors, whose rows it then locks. `exclusive`: to change what a channel or a window is
 * assigned to. So neither misses what the other writes, and no two deadlock.
 */
export async function lockAssignments(
  tx: Transaction,
  accountId: string,
  mode: 'shared' | 'exclusive',
): Promise<void> {
  const lock = sql.raw(mode === 'shared' ? 'pg_advisory_xact_lock_shared' : 'pg_advisory_xact_lock');
  await tx.execute(sql`select ${lock}(${ADVISORY_LOCKS.assignments}, hashtext(${accountId}))`);
}

/** Assigns new, relabeled or moved monitors, whose rows are locked, to what selects them. Requires the shared lock. */
export async function matchMonitors(
  tx: Transaction,
  accountId: string,
  monitors: readonly Labeled[],
): Promise<void> {
  const owners = await query(tx, ownerRow)`
    select 'channel' as kind, id, selector, null::text[] as sources from channels
    where account_id = ${accountId} and deleted_at is null and selector is not null
    union all
    select 'window', id, case when all_monitors then '{}' else selector end, sources from maintenance_windows
    where account_id = ${accountId} and state <> 'ended' and (selector is not null or all_monitors)`;
  if (owners.length === 0) return;
  const isOfMonitors = sql`a.monitor_id = any(${arrayOf(
    'uuid',
    monitors.map(({ id }) => id),
  )})`;
  for (const kind of ['channel', 'window'] as const) {
    const ofKind = owners.filter((owner) => owner.kind === kind);
    if (ofKind.length === 0) continue;
    await writeMatches(
      tx,
      kind,
      await compareMatches(tx, kind, isOfMonitors, await matchesOf(ofKind, monitors)),
    );
  }
}

/** Assigns the monitors that channels or windows select now, and no others. Requires the exclusive lock. */
export async function matchOwner(
  tx: Transaction,
  accountId: string,
  kind: Kind,
  ...owned: readonly string[]
): Promise<void> {
  await writeMatches(tx, kind, await compareOwned(tx, accountId, kind, owned));
}

/**
 * Corrects what an api of the previous release, which knows no selectors, has written during an upgrade. Locks only accounts with
 * differences.
 * @returns the assignments that were wrong
 */
export async function repairMatches(db: Database): Promise<number> {
  const accountIds = await queryColumn(db)`
    select account_id from channels where deleted_at is null and selector is not null
    union select account_id from maintenance_windows where state <> 'ended' and (selector is not null or all_monitors)`;
  let repaired = 0;
  for (const accountId of accountIds) {
    for (const kind of ['channel', 'window'] as const) {
      if ((await compareKind(db, accountId, kind)).count === 0) continue;
      repaired += await db.transaction(async (tx) => {
        await lockAssignments(tx, accountId, 'exclusive');
        const differences = await compareKind(tx, accountId, kind);
        await writeMatches(tx, kind, differences);
        return differences.count;
      });
    }
  }
  return repaired;
}

async function compareKind(db: Queryable, accountId: string, kind: Kind): Promise<Differences> {
  const owned = await (kind === 'channel'
    ? queryColumn(db)`
        select id from channels where account_id = ${accountId} and deleted_at is null and selector is not null`
    : queryColumn(db)`
        select id from maintenance_windows
        where account_id = ${accountId} and state <> 'ended' and (selector is not null or all_monitors)`);
  return compareOwned(db, accountId, kind, owned);
}

async function compareOwned(
  db: Queryable,
  accountId: string,
  kind: Kind,
  owned: readonly string[],
): Promise<Differences> {
  const { owner } = TABLES[kind];
  const ids = arrayOf('uuid', owned);
  const owners = await (kind === 'channel'
    ? query(db, ownerRow)`
        select 'channel' as kind, id, selector, null::text[] as sources from channels
        where id = any(${ids}) and deleted_at is null and selector is not null`
    : query(db, ownerRow)`
        select 'window' as kind, id, case when all_monitors then '{}' else selector end as selector, sources
        from maintenance_windows where id = any(${ids}) and state <> 'ended'
          and (selector is not null or all_monitors)`);
  const monitors = owners.length === 0 ? [] : await readLabeled(db, accountId);
  return compareMatches(db, kind, sql`a.${owner} = any(${ids})`, await matchesOf(owners, monitors));
}

/**
 * Deletes the matches of windows that have just ended, so that rows of many short windows do not pile up. If such a window is planned
 * again, it is matched again. Needs no lock of the assignments, and waits for none: it skips rows that another transaction is changing.
 */
export async function deleteWindowMatches(tx: Transaction, windowIds: readonly string[]): Promise<void> {
  if (windowIds.length === 0) return;
  await tx.execute(sql`
    with matches as (
      select window_id, monitor_id from maintenance_window_monitors
      where window_id = any(${arrayOf('uuid', windowIds)}) and not listed for update skip locked
    )
    delete from maintenance_window_monitors a using matches m
    where a.window_id = m.window_id and a.monitor_id = m.monitor_id`);
}

/** The account's monitors that a selector matches now. @param sources limits them to these sources; null: to none */
export async function findMatching(
  db: Queryable,
  accountId: string,
  { selector, sources }: Pick<Owner, 'selector' | 'sources'>,
): Promise<string[]> {
  const monitors = await readLabeled(db, accountId);
  const matches = await matchesOf([{ id: '', selector, sources }], monitors);
  return matches.map(({ monitorId }) => monitorId);
}

const labeledRow = z.object({
  id: z.string(),
  labels: z.record(z.string(), z.string()),
  source: z.string().nullable(),
});

async function readLabeled(db: Queryable, accountId: string): Promise<Labeled[]> {
  return query(db, labeledRow)`select id, labels, source from monitors where account_id = ${accountId}`;
}

async function matchesOf(
  owners: readonly Omit<Owner, 'kind'>[],
  monitors: readonly Labeled[],
): Promise<Pair[]> {
  const byLabel = new Map<string, Labeled[]>();
  for (const monitor of monitors) {
    for (const label of labelTexts(monitor.labels)) {
      const labeled = byLabel.get(label);
      if (labeled) labeled.push(monitor);
      else byLabel.set(label, [monitor]);
    }
  }
  const pairs: Pair[] = [];
  let compared = 0;
  for (const { id: ownerId, selector, sources } of owners) {
    const valueCount = (selector.matchExpressions ?? []).flatMap(({ values = [] }) => values).length;
    const candidates = requiredLabels(selector)?.flatMap((label) => byLabel.get(label) ?? []) ?? monitors;
    for (const { id: monitorId, labels, source } of candidates) {
      if (isSourceAllowed(sources, source) && matchesSelector(selector, labels)) {
        pairs.push({ ownerId, monitorId });
      }
      compared += 1 + valueCount;
      if (compared < MAX_COMPARISONS) continue;
      compared = 0;
      await nextTurn();
    }
  }
  return pairs;
}

/** Labels as `key=value`. Only a monitor with at least one of them can match, so that few are compared. Null: any monitor can match. */
function requiredLabels({ matchLabels = {}, matchExpressions = [] }: Selector): string[] | null {
  const [label] = labelTexts(matchLabels);
  if (label !== undefined) return [label];
  const condition = matchExpressions.find(({ operator }) => operator === 'In');
  if (condition === undefined) return null;
  return [...new Set(condition.values)].map((value) => `${condition.key}=${value}`);
}

/** What differs between stored matches and those that are right. */
interface Differences {
  readonly added: readonly Pair[];
  /** No longer matched, and not listed. */
  readonly deleted: readonly Pair[];
  /** No longer matched, but listed. */
  readonly kept: readonly Pair[];
  readonly count: number;
}

/** Compares the matches among the assignments `a` of a scope. */
async function compareMatches(
  db: Queryable,
  kind: Kind,
  scope: SQL,
  wanted: readonly Pair[],
): Promise<Differences> {
  const { table, owner } = TABLES[kind];
  const current = await query(db, matchedRow)`
    select a.${owner} as owner_id, a.monitor_id, a.listed from ${table} a where ${scope} and a.matched`;
  const added = difference(wanted, current);
  const removed = difference(current, wanted);
  const deleted = removed.filter(({ listed }) => !listed);
  const kept = removed.filter(({ listed }) => listed);
  return { added, deleted, kept, count: added.length + removed.length };
}

async function writeMatches(tx: Transaction, kind: Kind, { added, deleted, kept }: Differences) {
  const { table, owner } = TABLES[kind];
  const isOfPair = sql`a.${owner} = u.owner_id and a.monitor_id = u.monitor_id`;
  if (added.length > 0) {
    await tx.execute(sql`
      insert into ${table} (${owner}, monitor_id, listed, matched)
      select u.owner_id, u.monitor_id, false, true from ${pairsOf(added)}
      on conflict (${owner}, monitor_id) do update set matched = true`);
  }
  if (deleted.length > 0)
    await tx.execute(sql`delete from ${table} a using ${pairsOf(deleted)} where ${isOfPair}`);
  if (kept.length > 0)
    await tx.execute(sql`update ${table} a set matched = false from ${pairsOf(kept)} where ${isOfPair}`);
}

function pairsOf(pairs: readonly Pair[]): SQL {
  return tableOf('u', pairs, {
    owner_id: ['uuid', ({ ownerId }) => ownerId],
    monitor_id: ['uuid', ({ monitorId }) => monitorId],
  });
}

function difference<Of extends Pair>(pairs: readonly Of[], others: readonly Pair[]): Of[] {
  const keyOf = ({ ownerId, monitorId }: Pair): string => `${ownerId} ${monitorId}`;
  const keys = new Set(others.map(keyOf));
  return pairs.filter((pair) => !keys.has(keyOf(pair)));
}

/** Makes these the monitors that a channel or a window lists by their ids; unknown ones are left out. Requires the exclusive lock. */
export async function listMonitorsOf(
  tx: Transaction,
  accountId: string,
  kind: Kind,
  id: string,
  monitorIds: readonly string[],
): Promise<void> {
  const { table, owner } = TABLES[kind];
  const ids = arrayOf('uuid', monitorIds);
  const isUnlisted = sql`${owner} = ${id} and listed and monitor_id <> all(${ids})`;
  await tx.execute(sql`delete from ${table} where ${isUnlisted} and not matched`);
  await tx.execute(sql`update ${table} set listed = false where ${isUnlisted}`);
  await tx.execute(sql`
    insert into ${table} (${owner}, monitor_id)
    select ${id}, m.id from monitors m where m.account_id = ${accountId} and m.id = any(${ids})
    on conflict (${owner}, monitor_id) do update set listed = true`);
}
