import type { MonitorInput } from '@tocsin/contracts/monitors/monitor';
import { phaseMs } from '@tocsin/core/schedule/slots';
import type { SecretBox } from '@tocsin/core/secrets/secret-box';
import { sql } from 'drizzle-orm';
import { v7 as uuidv7 } from 'uuid';
import type { Transaction } from '../database/open.ts';
import { arrayOf, columnOf } from '../database/sql.ts';
import { type MonitorRecord, recordsOf, ROWS_AT_ONCE, toRecord } from './monitor-codec.ts';
import { type MonitorRow, monitors } from './table.ts';

/** When and where a monitor is checked. */
export interface MonitorSchedule {
  readonly monitorId: string;
  readonly revision: number;
  readonly intervalSeconds: number;
  readonly regions: readonly string[];
}

/** The regions that check a monitor: an empty list means the default region (specification "Regions"). */
export function effectiveRegions(regions: readonly string[], defaultRegion: string): readonly string[] {
  return regions.length > 0 ? regions : [defaultRegion];
}

/** A monitor's row as it was written, and the regions that check it. */
export interface WrittenRow {
  readonly row: MonitorRow;
  readonly regions: readonly string[];
}

/**
 * Writes new monitors, status PENDING, with their regions and the spans of what those are to check.
 * @returns in the order of the inputs
 */
export async function insertMonitors(
  tx: Transaction,
  secrets: SecretBox,
  accountId: string,
  inputs: readonly MonitorInput[],
  defaultRegion: string,
): Promise<WrittenRow[]> {
  const written: WrittenRow[] = [];
  for (let from = 0; from < inputs.length; from += ROWS_AT_ONCE) {
    const records = inputs
      .slice(from, from + ROWS_AT_ONCE)
      .map((input) => toRecord({ id: uuidv7(), revision: 1, probeRevision: 1 }, input, secrets));
    const rows = await insertRows(tx, accountId, records);
    for (const { id, regions } of records) {
      const row = rows.get(id);
      if (!row) throw new Error('insert returned no row');
      written.push({ row, regions: effectiveRegions(regions, defaultRegion) });
    }
  }
  if (written.length > 0) await assignRegions(tx, written);
  return written;
}

async function insertRows(
  tx: Transaction,
  accountId: string,
  records: readonly MonitorRecord[],
): Promise<Map<string, MonitorRow>> {
  await tx.execute(sql`
    insert into monitors (id, account_id, name, url, type, interval_seconds, timeout_seconds, method, sealed_headers,
      sealed_body, assertions, failure_threshold, regions, runbook_url, external_id, source, revision, probe_revision)
    select u.id, ${accountId}::uuid, u.name, u.url, u.type, u."intervalSeconds", u."timeoutSeconds", u.method,
      u."sealedHeaders", u."sealedBody", u.assertions, u."failureThreshold", u.regions, u."runbookUrl", u."externalId",
      u.source, u.revision, u."probeRevision"
    from ${recordsOf(records)} order by u.id`);
  const ids = arrayOf(
    'uuid',
    records.map(({ id }) => id),
  );
  const rows = await tx
    .select()
    .from(monitors)
    .where(sql`${monitors.id} = any(${ids})`);
  return new Map(rows.map((row) => [row.id, row]));
}

/** One round trip, however many there are. */
async function assignRegions(tx: Transaction, written: readonly WrittenRow[]): Promise<void> {
  const assigned = written.flatMap(({ row, regions }) => regions.map((region) => ({ row, region })));
  await tx.execute(sql`
    with assigned as (
      select * from unnest(
        ${columnOf(assigned, 'uuid', ({ row }) => row.id)},
        ${columnOf(assigned, 'text', ({ region }) => region)},
        ${columnOf(assigned, 'int', ({ row }) => row.intervalSeconds)},
        ${columnOf(assigned, 'int', ({ row }) => phaseMs(row.id, row.intervalSeconds * 1_000))}
      ) as u (monitor_id, region, interval_seconds, phase_ms)),
    regions as (
      insert into monitor_regions (monitor_id, region) select monitor_id, region from assigned)
    insert into schedule_spans (monitor_id, region, interval_seconds, phase_ms)
    select monitor_id, region, interval_seconds, phase_ms from assigned`);
}
