import { AppError } from '@tocsin/contracts/errors';
import type { Monitor, MonitorInput } from '@tocsin/contracts/monitors/monitor';
import { phaseMs } from '@tocsin/core/schedule/slots';
import type { SecretBox } from '@tocsin/core/secrets/secret-box';
import { sql } from 'drizzle-orm';
import { v7 as uuidv7 } from 'uuid';
import { brokenUniqueConstraint } from '../database/errors.ts';
import type { DbContext, Transaction } from '../database/open.ts';
import { arrayOf, firstOf, tableOf } from '../database/sql.ts';
import { runOnce } from '../idempotency-keys/run-once.ts';
import { RECORDS, toMonitor, toRecord } from './monitor-codec.ts';
import { versionOf } from './monitor-row.ts';
import { type MonitorRow, monitors } from './table.ts';

/** A monitor's row as it was written, and the regions that check it. */
export interface WrittenRow {
  readonly row: MonitorRow;
  readonly regions: readonly string[];
}

export interface WrittenMonitor {
  readonly monitor: Monitor;
  /** See `versionOf`. */
  readonly version: string;
  /** The regions that check it, whose schedules may have to change. */
  readonly regions: readonly string[];
}

/** The regions that check a monitor: an empty list means the default region. */
export function effectiveRegions(regions: readonly string[], defaultRegion: string): readonly string[] {
  return regions.length > 0 ? regions : [defaultRegion];
}

/**
 * Creates a monitor with status PENDING and its regions, in one transaction.
 * @throws AppError conflict if the account already has the externalId
 */
export async function createMonitor(
  context: DbContext,
  accountId: string,
  input: MonitorInput,
  defaultRegion: string,
): Promise<WrittenMonitor> {
  const written = await context.db
    .transaction((tx) => insertMonitors(tx, context.secrets, accountId, [input], defaultRegion))
    .catch((error: unknown) => {
      throw externalIdTaken(error, input.externalId) ?? error;
    });
  return toWritten(context, firstOf(written));
}

/** A new monitor's fields beside its input fields. */
type Given = Omit<Monitor, keyof MonitorInput>;

/**
 * `createMonitor` for a request with an Idempotency-Key: a repeated request gets the monitor as it was when it was created.
 * @returns `regions` is null if an earlier request with the same key created the monitor
 * @throws AppError conflict (externalId), request_in_flight, idempotency_key_reused
 */
export async function createMonitorOnce(
  context: DbContext,
  accountId: string,
  input: MonitorInput,
  defaultRegion: string,
  key: string,
): Promise<Omit<WrittenMonitor, 'regions'> & { readonly regions: readonly string[] | null }> {
  const { db, secrets } = context;
  return db
    .transaction(async (tx) => {
      let written: WrittenMonitor | null = null;
      const { result } = await runOnce(tx, { accountId, key, request: input, secrets }, async () => {
        written = toWritten(
          context,
          firstOf(await insertMonitors(tx, secrets, accountId, [input], defaultRegion)),
        );
        const { monitor, version } = written;
        const { id, status, statusSince, lastCheckedAt, createdAt, updatedAt } = monitor;
        const given: Given = { id, status, statusSince, lastCheckedAt, createdAt, updatedAt };
        return { given, version };
      });
      const { id, ...given } = result.given;
      return written ?? { monitor: { id, ...input, ...given }, version: result.version, regions: null };
    })
    .catch((error: unknown) => {
      throw externalIdTaken(error, input.externalId) ?? error;
    });
}

export function toWritten(
  { secrets }: Pick<DbContext, 'secrets'>,
  { row, regions }: WrittenRow,
): WrittenMonitor {
  return { monitor: toMonitor(row, secrets), version: versionOf(row), regions };
}

/** The conflict that a broken unique constraint on externalId means, or null for any other error. */
export function externalIdTaken(error: unknown, externalId: string | null | undefined): AppError | null {
  if (brokenUniqueConstraint(error) !== 'monitors_external_id_key') return null;
  return new AppError('conflict', `Another monitor of this account has externalId "${externalId}".`, {
    errors: [{ path: 'externalId', message: 'is taken by another monitor of this account' }],
    cause: error,
  });
}

/**
 * Writes new monitors with status PENDING, their regions, and the spans of the checks that these plan.
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
  for (let from = 0; from < inputs.length; from += RECORDS.atOnce) {
    const records = inputs
      .slice(from, from + RECORDS.atOnce)
      .map((input) => toRecord({ id: uuidv7(), revision: 1, probeRevision: 1 }, input, secrets));
    const ids = records.map(({ id }) => id);
    await tx.execute(sql`
      insert into monitors (account_id, ${RECORDS.names}) select ${accountId}::uuid, ${RECORDS.values}
      from ${RECORDS.table(records)} order by u.id`);
    const rows = await tx
      .select()
      .from(monitors)
      .where(sql`${monitors.id} = any(${arrayOf('uuid', ids)})`);
    const byId = new Map(rows.map((row) => [row.id, row]));
    for (const id of ids) {
      const row = byId.get(id);
      if (!row) throw new Error('The new monitor was not found');
      written.push({ row, regions: effectiveRegions(row.regions, defaultRegion) });
    }
  }
  if (written.length > 0) await assignRegions(tx, written);
  return written;
}

/** One round trip, however many there are. */
async function assignRegions(tx: Transaction, written: readonly WrittenRow[]): Promise<void> {
  const assigned = written.flatMap(({ row, regions }) => regions.map((region) => ({ row, region })));
  await tx.execute(sql`
    with assigned as (
      select * from ${tableOf('u', assigned, {
        monitor_id: ['uuid', ({ row }) => row.id],
        region: ['text', ({ region }) => region],
        interval_seconds: ['int', ({ row }) => row.intervalSeconds],
        phase_ms: ['int', ({ row }) => phaseMs(row.id, row.intervalSeconds * 1_000)],
      })}),
    regions as (
      insert into monitor_regions (monitor_id, region) select monitor_id, region from assigned)
    insert into schedule_spans (monitor_id, region, interval_seconds, phase_ms)
    select monitor_id, region, interval_seconds, phase_ms from assigned`);
}
