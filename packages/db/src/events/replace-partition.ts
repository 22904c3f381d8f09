import { sql } from 'drizzle-orm';
import { z } from 'zod';
import type { Transaction } from '../database/open.ts';
import {
  attachPartition,
  closePartition,
  lockAlone,
  type Partition,
  type Period,
  readPartitions,
} from '../database/partitions.ts';
import { queryOne } from '../database/sql.ts';
import { hasPending, lockPacking, packedName, pendingOf } from './pending-blocks.ts';

/**
 * Replaces a partition by its packed events.
 *
 * Every reader finds each event exactly once, because it locks `events` before it takes its snapshot. A single statement does so by itself,
 * and a transaction with one snapshot for several statements calls `holdPartitions`. Dropping a partition waits for that lock.
 *
 * Nothing of a deleted monitor stays. If the monitor is already deleted, its blocks are deleted here. Otherwise its purge begins later, waits
 * for the row that is locked here (`waitForRollUp`), and then finds these blocks in the partition.
 *
 * `events` is locked last, when only renaming and dropping is left, because no result is recorded in the meantime.
 *
 * @returns false if another process has packed the partition, or it must be packed again because events were added
 * @throws TableInUseError
 */
export async function replacePartition(tx: Transaction, partition: Partition): Promise<boolean> {
  if (!(await lockPacking(tx, partition)) || !(await hasPending(tx, partition))) return false;
  const [raw, packed, pending] = [partition.name, packedName(partition), pendingOf(partition)].map((one) =>
    sql.identifier(one),
  );
  await tx.execute(sql`analyze ${pending}`);
  await tx.execute(sql`lock table only ${pending} in access exclusive mode`);
  await closePartition(tx, partition.name);
  if (await wasAddedTo(tx, partition)) {
    await tx.execute(sql`drop table ${pending}`);
    return false;
  }
  await tx.execute(sql`select from check_rollup_state for update`);
  // This takes one index probe for each monitor.
  await tx.execute(sql`
    with recursive packed (id) as (
      (select monitor_id from ${pending} order by 1 limit 1)
      union all
      select (select monitor_id from ${pending} where monitor_id > p.id order by 1 limit 1) from packed p where p.id is not null)
    delete from ${pending} where monitor_id = any(array(
      select id from packed p where not exists (select from monitors m where m.id = p.id)))`);
  const replaced = (await readPartitions(tx, 'event_blocks')).find((one) => isSamePeriod(one, partition));
  await lockAlone(tx, 'events');
  if (replaced) await tx.execute(sql`drop table ${sql.identifier(replaced.name)}`);
  await tx.execute(sql`alter table ${pending} rename to ${packed}`);
  await attachPartition(tx, 'event_blocks', { ...partition, name: packedName(partition) });
  await tx.execute(sql`alter table ${packed} drop constraint bounds`);
  await tx.execute(sql`drop table ${raw}`);
  return true;
}

export function isSamePeriod(one: Period, other: Period): boolean {
  return one.start === other.start && one.end === other.end;
}

const changedRow = z.object({ changed: z.boolean() });

/** Detects events that no slice has packed. Such an event is its monitor's latest in the partition, because timestamps only increase. */
async function wasAddedTo(tx: Transaction, partition: Partition): Promise<boolean> {
  const [raw, pending] = [partition.name, pendingOf(partition)].map((one) => sql.identifier(one));
  const { changed } = await queryOne(tx, changedRow)`
    select exists (
      select from monitors m cross join lateral (select max(timestamp) as latest from ${raw} where monitor_id = m.id) r
      where r.latest > coalesce((select max(ends_at) from ${pending} where monitor_id = m.id), '-infinity')) as changed`;
  return changed;
}
