import { decideCheck, duplicateOf } from '@tocsin/core/status/decide-check';
import { sql } from 'drizzle-orm';
import type { Database, Transaction } from '../database/open.ts';
import { inOneRoundTrip } from '../database/sql.ts';
import { recordSilences } from '../silences/silences.ts';
import { lockMonitors } from '../status-changes/locked-monitor.ts';
import { writeStatuses } from '../status-changes/write-statuses.ts';
import type { CheckOutcome, CheckRecord, SealResponse } from './check-record.ts';
import { findExisting, findRepeated, insertEvents, settleTriggers, updateRegions } from './write-checks.ts';

export interface RecordOptions {
  /** Time limit of each statement. Defaults to the limit of the session. */
  readonly statementTimeoutMs?: number;
  /** By default, no response is kept. */
  readonly sealResponse?: SealResponse;
}

/**
 * Records a batch in one transaction. Skips monitors that another session has locked. Of several results of a monitor, it records only the
 * first, because the second depends on what this batch writes. @returns one outcome per result, in the same order
 */
export async function recordChecks(
  db: Database,
  checks: readonly CheckRecord[],
  { statementTimeoutMs, sealResponse = () => null }: RecordOptions = {},
): Promise<CheckOutcome[]> {
  return db.transaction(async (tx) => {
    const ids = [...new Set(checks.map((check) => check.monitorId))];
    const [, monitors] = await inOneRoundTrip(limitStatements(tx, statementTimeoutMs), lockMonitors(tx, ids));
    const skipped = checks.filter(({ monitorId }) => !monitors.has(monitorId));
    const finding = [findExisting(tx, skipped), findRepeated(tx, checks, monitors)] as const;
    const [existing, repeated] = await inOneRoundTrip(...finding);
    const results = checks.map((check) => {
      const monitor = monitors.get(check.monitorId);
      if (monitor === undefined) return { kind: existing.has(check.monitorId) ? 'busy' : 'gone' } as const;
      if (monitor.isChanged) return { kind: 'busy' } as const;
      return repeated.has(check) ? duplicateOf(check, monitor) : decideCheck(check, monitor);
    });
    const recorded = checks.flatMap((check, index) => {
      const decided = results[index];
      return decided?.kind === 'recorded' ? [{ check, decided }] : [];
    });
    const silences = recorded.flatMap(({ decided }) => decided.silence ?? []);
    const [, , , , changes] = await inOneRoundTrip(
      insertEvents(tx, recorded, sealResponse),
      updateRegions(tx, recorded),
      settleTriggers(tx, recorded),
      recordSilences(tx, silences),
      writeStatuses(tx, monitors.values()),
    );
    return results.map((result, index): CheckOutcome => {
      if (result.kind !== 'recorded') return result;
      const { kind, timestamp, inconclusive, outdated, needsRetry, gap } = result;
      const change = changes.get(checks[index]?.monitorId ?? '');
      const statusChangeId = change?.due === true ? change.id : null;
      return { kind, timestamp, inconclusive, outdated, needsRetry, gap, statusChangeId };
    });
  });
}

async function limitStatements(tx: Transaction, timeoutMs: number | undefined): Promise<void> {
  if (timeoutMs === undefined) return;
  await tx.execute(sql`select set_config('statement_timeout', ${String(timeoutMs)}, true)`).execute();
}
