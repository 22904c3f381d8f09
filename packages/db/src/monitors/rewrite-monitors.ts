import { isDeepStrictEqual } from 'node:util';
import type { MonitorInput } from '@tocsin/contracts/monitors/monitor';
import type { SecretBox } from '@tocsin/core/secrets/secret-box';
import { getTableColumns, sql, type SQL } from 'drizzle-orm';
import type { Transaction } from '../database/open.ts';
import { arrayOf, clockNow, columnOf } from '../database/sql.ts';
import { replanSpans } from '../monitor-regions/schedule-spans.ts';
import { judgeMonitors } from '../status-changes/evaluate-monitors.ts';
import type { RecordedStatusChange } from '../status-changes/record-status-changes.ts';
import { effectiveRegions } from './insert-monitors.ts';
import type { WrittenRow } from './insert-monitors.ts';
import { recordsOf, ROWS_AT_ONCE, toRecord } from './monitor-codec.ts';
import { type MonitorRow, monitors } from './table.ts';

const PROBE_FIELDS: ReadonlySet<string> = new Set([
  'url',
  'method',
  'headers',
  'body',
  'assertions',
  'timeout',
]);
const STATUS_FIELDS: ReadonlySet<string> = new Set(['regions', 'failureThreshold']);

/** A change of a monitor whose row the transaction has locked. */
export interface Rewrite {
  readonly before: MonitorRow;
  readonly input: MonitorInput;
  /** See `changedFields`; not empty. */
  readonly changed: readonly (keyof MonitorInput)[];
}

export interface RewrittenRow extends WrittenRow {
  /** The status change that a new threshold or list of regions brought about at once, if any. */
  readonly statusChange: RecordedStatusChange | null;
}

/** The fields whose values differ. */
export function changedFields(before: MonitorInput, after: MonitorInput): (keyof MonitorInput)[] {
  return (Object.keys(after) as (keyof MonitorInput)[]).filter(
    (field) => !isDeepStrictEqual(before[field], after[field]),
  );
}

/**
 * Writes changes of monitors, each a new revision: a change of what is probed resets the streaks; one of regions or threshold is
 * evaluated at once (design §4 "Status"). A handful of statements, however many monitors.
 * @returns in the order of the changes
 */
export async function rewriteMonitors(
  tx: Transaction,
  secrets: SecretBox,
  rewrites: readonly Rewrite[],
  defaultRegion: string,
): Promise<RewrittenRow[]> {
  if (rewrites.length === 0) return [];
  const rows = await writeRows(tx, secrets, rewrites);
  const written = rewrites.map(({ before, input }) => {
    const row = rows.get(before.id);
    if (!row) throw new Error('update returned no row');
    return { row, regions: effectiveRegions(input.regions, defaultRegion) };
  });
  const moved = await replaceRegions(tx, written);
  const idsWhere = (isSo: (rewrite: Rewrite) => boolean): string[] =>
    rewrites.filter(isSo).map(({ before }) => before.id);
  await replan(
    tx,
    written,
    new Set(idsWhere(({ before, changed }) => changed.includes('interval') || moved.has(before.id))),
  );
  await resetStreaks(tx, idsWhere(probeChanged));
  await forgetCertificates(
    tx,
    idsWhere(({ changed }) => changed.includes('url')),
  );
  const toJudge = new Set(idsWhere(({ changed }) => changed.some((field) => STATUS_FIELDS.has(field))));
  const judged = await judgeMonitors(
    tx,
    written.map(({ row }) => row).filter(({ id }) => toJudge.has(id)),
  );
  return written.map(({ row, regions }) => {
    const after = judged.get(row.id);
    return { row: after?.row ?? row, regions, statusChange: after?.statusChange ?? null };
  });
}

function probeChanged({ changed }: Rewrite): boolean {
  return changed.some((field) => PROBE_FIELDS.has(field));
}

async function writeRows(
  tx: Transaction,
  secrets: SecretBox,
  rewrites: readonly Rewrite[],
): Promise<Map<string, MonitorRow>> {
  const written = new Map<string, MonitorRow>();
  for (let from = 0; from < rewrites.length; from += ROWS_AT_ONCE) {
    const records = rewrites.slice(from, from + ROWS_AT_ONCE).map((rewrite) => {
      const { before, input } = rewrite;
      const revision = before.revision + 1;
      const probeRevision = probeChanged(rewrite) ? revision : before.probeRevision;
      return toRecord({ id: before.id, revision, probeRevision }, input, secrets);
    });
    const rows = await tx
      .update(monitors)
      .set({
        ...fromRecord,
        updatedAt: sql`greatest(${clockNow}, ${monitors.updatedAt} + interval '1 millisecond')`,
      })
      .from(recordsOf(records))
      .where(sql`${monitors.id} = u.id`)
      .returning(getTableColumns(monitors));
    for (const row of rows) written.set(row.id, row);
  }
  return written;
}

const column = (name: string): SQL => sql`u.${sql.identifier(name)}`;
const fromRecord = {
  name: column('name'),
  url: column('url'),
  type: column('type'),
  intervalSeconds: column('intervalSeconds'),
  timeoutSeconds: column('timeoutSeconds'),
  method: column('method'),
  sealedHeaders: column('sealedHeaders'),
  sealedBody: column('sealedBody'),
  assertions: column('assertions'),
  failureThreshold: column('failureThreshold'),
  regions: column('regions'),
  runbookUrl: column('runbookUrl'),
  externalId: column('externalId'),
  source: column('source'),
  revision: column('revision'),
  probeRevision: column('probeRevision'),
};

/** @returns the monitors that any region was taken from or given to */
async function replaceRegions(tx: Transaction, written: readonly WrittenRow[]): Promise<Set<string>> {
  const ids = written.map(({ row }) => row.id);
  const wanted = written.flatMap(({ row, regions }) =>
    regions.map((region) => ({ monitorId: row.id, region })),
  );
  const pairs = sql`unnest(
    ${columnOf(wanted, 'uuid', ({ monitorId }) => monitorId)},
    ${columnOf(wanted, 'text', ({ region }) => region)}) as w (monitor_id, region)`;
  const { rows: removed } = await tx.execute<{ monitor_id: string }>(sql`
    delete from monitor_regions r where r.monitor_id = any(${arrayOf('uuid', ids)})
      and (r.monitor_id, r.region) not in (select w.monitor_id, w.region from ${pairs})
    returning r.monitor_id`);
  const { rows: added } = await tx.execute<{ monitor_id: string }>(sql`
    insert into monitor_regions (monitor_id, region) select w.monitor_id, w.region from ${pairs}
    on conflict do nothing returning monitor_id`);
  return new Set([...removed, ...added].map((row) => row.monitor_id));
}

async function replan(
  tx: Transaction,
  written: readonly WrittenRow[],
  ids: ReadonlySet<string>,
): Promise<void> {
  if (ids.size === 0) return;
  const planned = written
    .filter(({ row }) => ids.has(row.id))
    .flatMap(({ row: { id, intervalSeconds }, regions }) =>
      regions.map((region) => ({ monitorId: id, region, intervalSeconds })),
    );
  await replanSpans(tx, [...ids], planned);
}

async function resetStreaks(tx: Transaction, ids: readonly string[]): Promise<void> {
  if (ids.length === 0) return;
  await tx.execute(sql`
    update monitor_regions set consecutive_failures = 0, last_result_at = null, last_latency_ms = null,
      last_error_reason = null, since = ${clockNow}
    where monitor_id = any(${arrayOf('uuid', ids)})`);
}

/** Of the target before. */
async function forgetCertificates(tx: Transaction, ids: readonly string[]): Promise<void> {
  if (ids.length === 0) return;
  await tx.execute(sql`
    update monitor_regions set certificate_expires_at = null where monitor_id = any(${arrayOf('uuid', ids)})`);
}
