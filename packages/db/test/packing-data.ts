import { columnNames, tableOf } from '@tocsin/db/database/sql';
import { sql } from 'drizzle-orm';
import type { TestContext } from './harness.ts';

export const DAY_MS = 86_400_000;
export const HOUR_MS = 3_600_000;

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

/** Makes a passing check for each minute, alternating between two regions. */
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
