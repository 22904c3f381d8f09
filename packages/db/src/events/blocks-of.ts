import { sql, type SQL, type Subquery } from 'drizzle-orm';
import { BLOCK_COLUMNS } from './pending-blocks.ts';

/** Two full blocks of typical checks fill a page of 8 kB. Larger ones waste more of it, smaller ones compress less. */
const EVENTS_PER_BLOCK = 256;

const array = (value: SQL): SQL => sql`array_agg(${value} order by "timestamp")`;
/** Null without any value. */
const sparse = (value: SQL): SQL => sql`case when count(${value}) > 0 then ${array(value)} end`;
const ms = (duration: SQL): SQL => sql`(extract(epoch from ${duration}) * 1000)::bigint`;

/** Selects blocks of packed events. `packed_events` is the inverse. */
export function blocksOf(stored: Subquery): SQL {
  const packed: Readonly<Record<string, SQL>> = {
    monitor_id: sql`monitor_id`,
    starts_at: sql`starts_at`,
    ends_at: sql`max("timestamp")`,
    slot_steps: sparse(ms(sql`slot - coalesce(previous_slot, starts_at)`)),
    delays: array(ms(sql`"timestamp" - coalesce(slot, starts_at)`)),
    id: sparse(sql`nullif(id, event_id(monitor_id, "timestamp"))`),
  };
  const columns = BLOCK_COLUMNS.map(({ name }) => packed[name] ?? sparse(sql`${sql.identifier(name)}`));
  return sql`
    select ${sql.join(columns, sql`, `)}
    from (
      select *, first_value("timestamp") over in_block as starts_at,
        lag(slot) over (partition by monitor_id, block, slot is null order by "timestamp") as previous_slot
      from (
        select *, (row_number() over (partition by monitor_id order by "timestamp") - 1) / ${EVENTS_PER_BLOCK} as block
        from ${stored}) numbered
      window in_block as (partition by monitor_id, block order by "timestamp")) e
    group by monitor_id, block, starts_at`;
}
