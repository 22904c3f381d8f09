import { columnNames, tableOf } from '@tocsin/db/database/sql';
import { listPartitions } from '@tocsin/db/database/partitions';
import { purgeDeletedMonitors } from '@tocsin/db/deleted-monitors/purge';
import { ensureEventPartitions } from '@tocsin/db/events/partitions';
import { sql } from 'drizzle-orm';
import { readClock, type TestContext } from './harness.ts';
import { setWatermark } from './rollup-data.ts';

export const DAY_MS = 86_400_000;
export const HOUR_MS = 3_600_000;

const suffixOf = (day: number): string => new Date(day).toISOString().slice(0, 10).replaceAll('-', '_');
export const rawNameOf = (day: number): string => `events_${suffixOf(day)}`;
export const packedNameOf = (day: number): string => `event_blocks_${suffixOf(day)}`;

/** Deletes all monitors and partitions, and makes a raw one for the day that ended a day ago. @returns its start, and the time */
export async function resetPartitions(context: TestContext): Promise<{ now: number; day: number }> {
  const { db } = context;
  await db.execute(sql`delete from monitors`);
  await purgeDeletedMonitors(db);
  const now = await readClock(context);
  const day = Math.floor(now / DAY_MS) * DAY_MS - 2 * DAY_MS;
  for (const table of ['events', 'event_blocks'] as const) {
    for (const name of await listPartitions(db, table))
      await db.execute(sql`drop table ${sql.identifier(name)}`);
  }
  await db.execute(sql`drop table if exists ${sql.identifier(`${packedNameOf(day)}_pending`)}`);
  await ensureEventPartitions(db, { now: day + DAY_MS });
  await setWatermark(context, day + DAY_MS + HOUR_MS);
  return { now, day };
}

export interface EventFields {
  readonly monitorId: string;
  readonly timestamp: number;
  readonly [column: string]: unknown;
}

export const NUMBERS = [
  'latency_ms',
  'status_code',
  'dns_ms',
  'tcp_ms',
  'tls_ms',
  'first_byte_ms',
  'download_ms',
];
export const TEXTS = ['status', 'error_reason', 'error_detail', 'sealed_response', 'region', 'source', 'url'];

export async function insertRows({ db }: TestContext, rows: readonly EventFields[]): Promise<void> {
  const columns = {
    monitor_id: ['uuid', (row: EventFields) => row.monitorId],
    timestamp: ['timestamptz', (row: EventFields) => row.timestamp],
    slot: ['timestamptz', (row: EventFields) => row['slot'] ?? null],
    id: ['uuid', (row: EventFields) => row['id'] ?? null],
    inconclusive: ['bool', (row: EventFields) => row['inconclusive'] ?? false],
    ...Object.fromEntries(
      NUMBERS.map((name) => [name, ['int', (row: EventFields) => row[name] ?? null]] as const),
    ),
    ...Object.fromEntries(
      TEXTS.map((name) => [name, ['text', (row: EventFields) => row[name] ?? null]] as const),
    ),
  } as const;
  await db.execute(sql`
    with rows as (select * from ${tableOf('u', rows, columns)})
    insert into events (${columnNames(columns)})
    select ${sql.raw(
      Object.keys(columns)
        .map((name) => (name === 'id' ? `coalesce(id, event_id(monitor_id, "timestamp"))` : `"${name}"`))
        .join(', '),
    )} from rows`);
  await db.execute(sql`
    update monitors m set last_timestamp = (select max(timestamp) from events where monitor_id = m.id),
      created_at = least(created_at, (select min(timestamp) from events where monitor_id = m.id))`);
}

/** A passing check of each minute, in turn from two regions. */
export function checksOf(of: { monitorId: string; start: number; count: number }): EventFields[] {
  return Array.from({ length: of.count }, (_, index) => {
    const slot = of.start + index * 60_000;
    return {
      monitorId: of.monitorId,
      timestamp: slot + 90 + ((index * 7) % 20),
      slot,
      status: index % 50 === 0 ? 'DOWN' : 'UP',
      latency_ms: 80 + ((index * 13) % 40),
      status_code: 200,
      region: index % 2 === 0 ? 'eu' : 'us',
      source: 'schedule',
      tcp_ms: 20,
      first_byte_ms: 60,
    };
  });
}

/** All rows of a table of events, as text. */
export async function readRows({ db }: TestContext, table: 'events' | 'packed_events'): Promise<unknown[]> {
  const { rows } = await db.execute(sql`
    select monitor_id, timestamp::timestamptz(3)::text, id, status, latency_ms, status_code, error_reason, error_detail, inconclusive,
      sealed_response, region, source, slot::timestamptz(3)::text, url, dns_ms, tcp_ms, tls_ms, first_byte_ms, download_ms
    from ${sql.identifier(table)} order by 1, 2`);
  return rows;
}

/** The database, with a signal that is aborted after so many of its transactions. */
export function abortAfter(
  context: TestContext,
  count: number,
  controller: AbortController,
): TestContext['db'] {
  return runAfter(context, count, () => controller.abort());
}

/** A database that does something after so many transactions. */
export function runAfter({ db }: TestContext, count: number, work: () => unknown): TestContext['db'] {
  let done = 0;
  const transaction: TestContext['db']['transaction'] = async (run, config) => {
    const result = await db.transaction(run, config);
    done += 1;
    if (done === count) await work();
    return result;
  };
  return Object.assign(Object.create(db) as TestContext['db'], { transaction });
}
