import { LIMITS } from '@tocsin/contracts/limits';
import type { Selector } from '@tocsin/contracts/labels/selector';
import { sql, type SQL } from 'drizzle-orm';
import { z } from 'zod';
import type { Database, Queryable, Transaction } from '../database/open.ts';
import { arrayOf, query, queryColumn, queryOne, tableOf } from '../database/sql.ts';
import {
  type Kind,
  lockAssignments,
  requireAssignmentQuota,
  selectsAll,
  TABLES,
  tooManyAssignments,
} from './assignments.ts';
import {
  type Batch,
  type Compared,
  type Labeled,
  matchesOf,
  type Owner,
  type Pair,
} from './compare-selectors.ts';

const ownerRow = z.object({
  id: z.string(),
  /** Validated when it was written. */
  selector: z.custom<Selector | null>(),
  sources: z.array(z.string()).nullable(),
});

const KINDS = ['channel', 'window'] as const;

/** The columns of an owner, from channels `c` or maintenance windows `w`. */
const OWNERS = {
  channel: sql`select c.id, null::text[] as sources,
      case when c.deleted_at is null and ${selectsAll('channel', 'c')} is not true then c.selector end as selector
    from channels c`,
  window: sql`select w.id, w.sources,
      case when w.state <> 'ended' and ${selectsAll('window', 'w')} is not true
        then case when w.all_monitors then '{}' else w.selector end end as selector
    from maintenance_windows w`,
} as const;

/** Assigns new, relabeled or moved monitors, whose rows are locked, to what selects them. Requires the shared lock. */
export async function matchMonitors(
  tx: Transaction,
  accountId: string,
  monitors: readonly Labeled[],
): Promise<void> {
  const ids = monitors.map(({ id }) => id);
  for (const kind of KINDS) {
    const owners = await query(tx, ownerRow)`
      select * from (${OWNERS[kind]} where account_id = ${accountId}) o where selector is not null`;
    const isOfMonitors = sql`a.monitor_id = any(${arrayOf('uuid', ids)})`;
    await writeMatches(tx, accountId, kind, [owners, monitors], { scope: isOfMonitors });
  }
}

/** Assigns the monitors that channels or windows select now, and no others. Requires the exclusive lock. */
export async function matchOwner(
  tx: Transaction,
  accountId: string,
  kind: Kind,
  ...owned: readonly string[]
): Promise<void> {
  await writeMatches(tx, accountId, kind, await readOwned(tx, accountId, kind, owned));
}

async function readOwned(
  tx: Transaction,
  accountId: string,
  kind: Kind,
  owned: readonly string[],
): Promise<Compared> {
  const owners = await query(tx, ownerRow)`${OWNERS[kind]} where id = any(${arrayOf('uuid', owned)})`;
  return [owners, await readFor(tx, accountId, owners)];
}

/**
 * Corrects what an api of the previous release, which knows no selectors, has written during an upgrade, and deletes what ended windows
 * have left. Locks only accounts with differences, for one batch at a time. An account that fails does not keep the others waiting.
 * @returns the assignments that were wrong
 * @throws AggregateError of the accounts that failed
 */
export async function repairMatches(db: Database): Promise<number> {
  const accountIds = await queryColumn(db)`
    select account_id from channels where selector is not null
    union select account_id from maintenance_windows where selector is not null or all_monitors`;
  let repaired = 0;
  const failures: unknown[] = [];
  for (const accountId of accountIds) {
    try {
      for (const kind of KINDS) repaired += await repairAccount(db, accountId, kind);
    } catch (error) {
      failures.push(error);
    }
  }
  if (failures.length > 0) throw new AggregateError(failures, `Accounts not repaired: ${failures.length}`);
  return repaired;
}

async function repairAccount(db: Database, accountId: string, kind: Kind): Promise<number> {
  const { table, owner } = TABLES[kind];
  const owners = await query(db, ownerRow)`
    select * from (${OWNERS[kind]} where account_id = ${accountId}) o
    where selector is not null or exists (select from ${table} a where a.${owner} = o.id and a.matched)`;
  let repaired = 0;
  for await (const batch of matchesOf(owners, await readFor(db, accountId, owners))) {
    const { missing, wrong } = await countDifferences(db, kind, batch);
    if (missing + wrong === 0) continue;
    repaired += missing + wrong;
    await db.transaction(async (tx) => {
      await lockAssignments(tx, accountId, 'exclusive');
      const compared = await readOwned(tx, accountId, kind, batch.ownerIds);
      await writeMatches(tx, accountId, kind, compared, { isLimited: false });
    });
  }
  return repaired;
}

/** The account's monitors that a selector matches now. @param sources limits them to these sources; null: to none */
export async function findMatching(
  db: Queryable,
  accountId: string,
  { selector, sources }: Pick<Owner, 'selector' | 'sources'>,
): Promise<string[]> {
  const owners = [{ id: '', selector, sources }];
  const found: string[] = [];
  for await (const { pairs } of matchesOf(owners, await readFor(db, accountId, owners)))
    found.push(...pairs.map(({ monitorId }) => monitorId));
  return found;
}

const labeledRow = z.object({
  id: z.string(),
  labels: z.record(z.string(), z.string()),
  source: z.string().nullable(),
});

/** Reads the account's monitors, if one of these owners has a selector. */
async function readFor(db: Queryable, accountId: string, owners: readonly Owner[]): Promise<Labeled[]> {
  if (owners.every(({ selector }) => selector === null)) return [];
  return query(db, labeledRow)`select id, labels, source from monitors where account_id = ${accountId}`;
}

const differenceRow = z.object({
  /** Matches without a row. */
  missing: z.number(),
  /** Rows without a match. */
  wrong: z.number(),
});

/** Compares the matches of a batch with the stored ones. @param scope limits it to some assignments `a` */
async function countDifferences(
  db: Queryable,
  kind: Kind,
  { ownerIds, pairs }: Batch,
  scope: SQL = sql`true`,
): Promise<z.output<typeof differenceRow>> {
  const { table, owner } = TABLES[kind];
  return queryOne(db, differenceRow)`
    with stored as (
      select a.${owner} as owner_id, a.monitor_id from ${table} a
      where a.${owner} = any(${arrayOf('uuid', ownerIds)}) and a.matched and ${scope})
    select (count(*) filter (where s.owner_id is null))::int as missing,
      (count(*) filter (where u.owner_id is null))::int as wrong
    from ${tableOfPairs(pairs)} full join stored s on s.owner_id = u.owner_id and s.monitor_id = u.monitor_id`;
}

interface WriteOptions {
  /** Limits it to some assignments `a`. */
  readonly scope?: SQL;
  /** Whether the account must stay within its quota. Default: true. */
  readonly isLimited?: boolean;
}

/** Stores the matches of owners, and no others of theirs. @throws AppError quota_exceeded */
async function writeMatches(
  tx: Transaction,
  accountId: string,
  kind: Kind,
  compared: Compared,
  { scope = sql`true`, isLimited = true }: WriteOptions = {},
): Promise<void> {
  const { table, owner } = TABLES[kind];
  if (isLimited) await refuseTooMany(compared);
  let added = 0;
  for await (const batch of matchesOf(...compared)) {
    const { missing, wrong } = await countDifferences(tx, kind, batch, scope);
    const pairs = tableOfPairs(batch.pairs);
    const isOfPair = sql`a.${owner} = u.owner_id and a.monitor_id = u.monitor_id`;
    const isWrong = sql`a.${owner} = any(${arrayOf('uuid', batch.ownerIds)}) and a.matched and ${scope}
      and not exists (select from ${pairs} where ${isOfPair})`;
    if (wrong > 0) {
      await tx.execute(sql`delete from ${table} a where ${isWrong} and not a.listed`);
      await tx.execute(sql`update ${table} a set matched = false where ${isWrong}`);
    }
    if (missing === 0) continue;
    added += missing;
    await tx.execute(sql`
      insert into ${table} (${owner}, monitor_id, listed, matched)
      select u.owner_id, u.monitor_id, false, true from ${pairs}
      where not exists (select from ${table} a where ${isOfPair} and a.matched)
      on conflict (${owner}, monitor_id) do update set matched = true`);
  }
  if (isLimited && added > 0) await requireAssignmentQuota(tx, accountId);
}

/** Refuses more matches than any account may have, before any is written. @throws AppError quota_exceeded */
async function refuseTooMany([owners, monitors]: Compared): Promise<void> {
  if (owners.length * monitors.length <= LIMITS.assignments) return;
  let count = 0;
  for await (const { pairs } of matchesOf(owners, monitors)) {
    count += pairs.length;
    if (count > LIMITS.assignments) throw tooManyAssignments(count);
  }
}

function tableOfPairs(pairs: readonly Pair[]): SQL {
  return tableOf('u', pairs, {
    owner_id: ['uuid', ({ ownerId }) => ownerId],
    monitor_id: ['uuid', ({ monitorId }) => monitorId],
  });
}
