import { readPartitions } from '@tocsin/db/database/partitions';
import type { System } from '@tocsin/lab/system';
import { setCreatedAt, withClient } from './fill-history.ts';

const DAY_MS = 86_400_000;
const TIMES = new Set(['starts_at', 'ends_at']);

/**
 * Repeats the only packed day on the days before it, until there are so many. Blocks have their times relative to their start, and ids
 * that follow from the timestamps, so those of another day differ only by their bounds.
 * @param onDay called after each day
 */
export async function repeatPackedDay(
  system: System,
  days: number,
  onDay: (day: number) => void,
): Promise<void> {
  const [source, ...others] = await readPartitions(system.database.db, 'event_blocks');
  if (source === undefined || others.length > 0 || source.end - source.start !== DAY_MS)
    throw new Error('not one packed day');
  await withClient(system, async (client) => {
    const { rows } = await client.query<{ name: string }>(
      `select attname as name from pg_attribute where attrelid = 'event_blocks'::regclass and attnum > 0`,
    );
    const names = rows.map(({ name }) => name);
    for (let day = 1; day < days; day += 1) {
      const [from, to] = [source.start, source.end].map((time) =>
        new Date(time - day * DAY_MS).toISOString(),
      );
      const name = `event_blocks_${from?.slice(0, 10).replaceAll('-', '_')}`;
      const shifted = names.map((one) => (TIMES.has(one) ? `${one} - interval '${day} days'` : one));
      await client.query(
        `create table ${name} (like event_blocks including all) with (toast_tuple_target = 128);
         insert into ${name} (${names.join(', ')}) select ${shifted.join(', ')} from ${source.name} order by monitor_id, ends_at`,
      );
      await client.query(`vacuum (analyze) ${name}`);
      await client.query(
        `alter table event_blocks attach partition ${name} for values from ('${from}') to ('${to}')`,
      );
      onDay(day + 1);
    }
    await setCreatedAt(client, source.start - (days - 1) * DAY_MS);
  });
}
