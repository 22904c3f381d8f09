import { LIMITS } from '@tocsin/contracts/limits';
import type { Selector } from '@tocsin/contracts/labels/selector';
import { sql } from 'drizzle-orm';
import { z } from 'zod';
import type { Queryable, Transaction } from '../database/open.ts';
import { arrayOf, inOneRoundTrip, query, tableOf } from '../database/sql.ts';
import { type Kind, requireAssignmentQuota, selectsAll, TABLES, tooManyAssignments } from './assignments.ts';
import { type Compared, type Labeled, matchesOf, type Owner } from './compare-selectors.ts';

const ownerRow = z.object({
  id: z.string(),
  /** The selector was validated when it was written. */
  selector: z.custom<Selector | null>(),
  sources: z.array(z.string()).nullable(),
});

const KINDS = ['channel', 'window'] as const;

/** Selects owners from channels `c` or maintenance windows `w`. */
const OWNERS = {
  channel: sql`select c.id, null::text[] as sources,
      case when c.deleted_at is null and ${selectsAll('channel', 'c')} is not true then c.selector end as selector
    from channels c`,
  window: sql`select w.id, w.sources,
      case when w.state <> 'ended' and ${selectsAll('window', 'w')} is not true
        then case when w.all_monitors then '{}' else w.selector end end as selector
    from maintenance_windows w`,
} as const;

/** Assigns new, relabeled or moved monitors, whose rows are locked, to the channels and windows that select them. Requires the shared lock. */
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
    await writeMatches(tx, accountId, kind, [owners, monitors], isOfMonitors);
  }
}

/** Makes channels or windows have exactly the monitors that they select now. Requires the exclusive lock. */
export async function matchOwner(
  tx: Transaction,
  accountId: string,
  kind: Kind,
  ...owned: readonly string[]
): Promise<void> {
  const owners = await query(tx, ownerRow)`${OWNERS[kind]} where id = any(${arrayOf('uuid', owned)})`;
  await writeMatches(tx, accountId, kind, [owners, await readFor(tx, accountId, owners)]);
}

/** Lists the account's monitors that a selector matches now. */
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

async function readFor(db: Queryable, accountId: string, owners: readonly Owner[]): Promise<Labeled[]> {
  if (owners.every(({ selector }) => selector === null)) return [];
  return query(db, labeledRow)`select id, labels, source from monitors where account_id = ${accountId}`;
}

/** Stores exactly these matches of the owners. @param scope limits it to some assignments `a` @throws AppError quota_exceeded */
async function writeMatches(
  tx: Transaction,
  accountId: string,
  kind: Kind,
  compared: Compared,
  scope = sql`true`,
): Promise<void> {
  const { table, owner } = TABLES[kind];
  await refuseTooMany(compared);
  let added = 0;
  for await (const { ownerIds, pairs } of matchesOf(...compared)) {
    const matches = tableOf('u', pairs, {
      owner_id: ['uuid', ({ ownerId }) => ownerId],
      monitor_id: ['uuid', ({ monitorId }) => monitorId],
    });
    const isOfPair = sql`a.${owner} = u.owner_id and a.monitor_id = u.monitor_id`;
    const isWrong = sql`a.${owner} = any(${arrayOf('uuid', ownerIds)}) and a.matched and ${scope}
      and not exists (select from ${matches} where ${isOfPair})`;
    const [, , { rowCount }] = await inOneRoundTrip(
      tx.execute(sql`delete from ${table} a where ${isWrong} and not a.listed`).execute(),
      tx.execute(sql`update ${table} a set matched = false where ${isWrong}`).execute(),
      tx
        .execute(
          sql`
        insert into ${table} (${owner}, monitor_id, listed, matched)
        select u.owner_id, u.monitor_id, false, true from ${matches}
        where not exists (select from ${table} a where ${isOfPair} and a.matched)
        on conflict (${owner}, monitor_id) do update set matched = true`,
        )
        .execute(),
    );
    added += rowCount ?? 0;
  }
  if (added > 0) await requireAssignmentQuota(tx, accountId);
}

/** Refuses matches that exceed the quota of an account before any is written. @throws AppError quota_exceeded */
async function refuseTooMany([owners, monitors]: Compared): Promise<void> {
  if (owners.length * monitors.length <= LIMITS.assignments) return;
  let count = 0;
  for await (const { pairs } of matchesOf(owners, monitors)) {
    count += pairs.length;
    if (count > LIMITS.assignments) throw tooManyAssignments(count);
  }
}
