import { statfs } from 'node:fs/promises';
import { readPartitions } from '@tocsin/db/database/partitions';
import { UsageError } from '@tocsin/embedded/program/run-program';
import { insertPastEvents, setCreatedAt } from '@tocsin/lab/past-events';
import type { Span } from '@tocsin/lab/slots';
import type { System } from '@tocsin/lab/system';
import { Client } from 'pg';

const HOUR_MS = 3_600_000;
export const DAY_MS = 24 * HOUR_MS;
/** Disk space for everything but the events. */
const OTHER_BYTES = 4_000_000_000;
const TIMES = new Set(['starts_at', 'ends_at']);

/** Monitors with as many events on a day. */
type Share = readonly [monitorIds: readonly string[], perMonitor: number];

/** Writes the partition of the last day that is over for a day. @returns its span */
export async function fillDay(system: System, shares: readonly Share[]): Promise<Span> {
  const to = Math.floor(Date.now() / DAY_MS) * DAY_MS - DAY_MS;
  const span = { from: to - DAY_MS, to };
  const { name, bounds } = partitionOf('events', span);
  await withClient(system, async (client) => {
    await client.query(`create table ${name} (like events including defaults)`);
    // Inserting rows in key order and then adding the key is much faster than inserting into an attached partition.
    for (const [monitorIds, perMonitor] of shares)
      await insertPastEvents(client, { monitorIds, perMonitor, span, table: name });
    await client.query(`alter table ${name} add primary key (monitor_id, timestamp)`);
    await client.query(`vacuum (analyze) ${name}`);
    await client.query(`alter table events attach partition ${name} ${bounds}`);
    for (const [monitorIds] of shares) await setCreatedAt(client, monitorIds, span.from);
    await client.query('analyze events');
  });
  return span;
}

function partitionOf(table: string, span: Span): { readonly name: string; readonly bounds: string } {
  const [from = '', to = ''] = [span.from, span.to].map((time) => new Date(time).toISOString());
  const name = `${table}_${from.slice(0, 10).replaceAll('-', '_')}`;
  return { name, bounds: `for values from ('${from}') to ('${to}')` };
}

/**
 * Copies the only packed day to the days before it. In a block, times are relative to its start and ids are derived from timestamps, so the
 * blocks of another day differ only in their bounds.
 * @param onDay called after each day
 */
export async function repeatPackedDay(
  system: System,
  monitorIds: readonly string[],
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
      const span = { from: source.start - day * DAY_MS, to: source.end - day * DAY_MS };
      const { name, bounds } = partitionOf('event_blocks', span);
      const shifted = names.map((one) => (TIMES.has(one) ? `${one} - interval '${day} days'` : one));
      await client.query(
        `create table ${name} (like event_blocks including all) with (toast_tuple_target = 128);
         insert into ${name} (${names.join(', ')}) select ${shifted.join(', ')} from ${source.name} order by monitor_id, ends_at`,
      );
      await client.query(`vacuum (analyze) ${name}`);
      await client.query(`alter table event_blocks attach partition ${name} ${bounds}`);
      onDay(day + 1);
    }
    await setCreatedAt(client, monitorIds, source.start - (days - 1) * DAY_MS);
  });
}

/** @param bytes of the events @throws UsageError if the disk could become full */
export async function requireDisk(folder: string, bytes: number): Promise<void> {
  const { bavail, bsize } = await statfs(folder);
  const gigabytes = Math.ceil((bytes + OTHER_BYTES) / 1e9);
  if (bavail * bsize < gigabytes * 1e9)
    throw new UsageError(`The run needs ${gigabytes} GB of disk. Reduce the load, or set DATA_DIR`);
}

/** Returns the start of a past hour in epoch milliseconds. */
export function hoursAgo(hours: number): number {
  return (Math.floor(Date.now() / HOUR_MS) - hours) * HOUR_MS;
}

/** Uses its own session, because sessions from the pool have time limits. */
export async function withClient<Result>(
  { databaseUrl }: System,
  work: (client: Client) => Promise<Result>,
): Promise<Result> {
  const client = new Client({ connectionString: databaseUrl });
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end();
  }
}
