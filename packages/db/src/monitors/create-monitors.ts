import type { Monitor, MonitorInput } from '@tocsin/contracts/monitors/monitor';
import { type Actor, requireSource } from '../audit-log/actor.ts';
import { recordAudit } from '../audit-log/record-audit.ts';
import { rethrowConflict } from '../database/errors.ts';
import type { DbContext } from '../database/open.ts';
import { firstOf } from '../database/sql.ts';
import { findResult, storeResult } from '../idempotency-keys/stored-results.ts';
import { namedRegions, requireRegions } from '../agents/require-regions.ts';
import { monitorGrowth, requireQuotas, type WriteContext } from '../accounts/quotas.ts';
import { auditMonitor, toMonitor } from './monitor-codec.ts';
import { versionOf } from './monitor-row.ts';
import { writeMonitors, type WriteScope, type WrittenRow } from './write-monitors.ts';

export interface WrittenMonitor extends Pick<WrittenRow, 'regions'> {
  readonly monitor: Monitor;
  readonly version: string;
}

/** Kept for repeated requests. The input is left out, because it may contain secrets. */
interface StoredResult {
  readonly given: Omit<Monitor, keyof MonitorInput>;
  readonly version: string;
}

/**
 * Creates a PENDING monitor. A repeated request gets the monitor as it was created, and `regions` is null.
 * @throws AppError source_not_allowed, validation_failed for a region that the account cannot use, conflict if the externalId is taken, quota_exceeded, request_in_flight, idempotency_key_reused
 */
export async function createMonitor(
  context: WriteContext,
  actor: Actor,
  input: MonitorInput,
  defaultRegion: string,
  key?: string,
): Promise<Omit<WrittenMonitor, 'regions'> & { readonly regions: readonly string[] | null }> {
  const { accountId } = actor;
  const { db, secrets } = context;
  const request = { accountId, key, request: input, secrets };
  return db
    .transaction(async (tx) => {
      await requireRegions(tx, accountId, context, namedRegions(input.regions));
      requireSource(actor, input.source);
      const stored = await findResult<StoredResult>(tx, request);
      if (stored) return { monitor: { ...stored.given, ...input }, version: stored.version, regions: null };
      const written = firstOf(await insertMonitors({ tx, secrets, accountId, defaultRegion }, [input]));
      const created = toWritten(context, written);
      const { monitor, version } = created;
      const given = Object.entries(monitor).filter(([field]) => !(field in input));
      await storeResult(tx, request, monitor.id, { given: Object.fromEntries(given), version });
      await recordAudit(tx, actor, auditMonitor(null, written.row));
      await requireQuotas(tx, accountId, context, monitorGrowth([written.row]));
      return created;
    })
    .catch(rethrowConflict(db, accountId, input.externalId));
}

/** Writes new monitors with status PENDING (see `writeMonitors`). */
export function insertMonitors(scope: WriteScope, inputs: readonly MonitorInput[]): Promise<WrittenRow[]> {
  const writes = inputs.map((input) => ({ before: null, input, changed: [] }));
  return writeMonitors(scope, writes);
}

/** Returns the monitor with its secrets, because whoever writes a monitor may also see them. */
export function toWritten(
  { secrets }: Pick<DbContext, 'secrets'>,
  { row, regions }: Pick<WrittenRow, 'row' | 'regions'>,
): WrittenMonitor {
  return { monitor: toMonitor(row, secrets, { canWrite: true }), version: versionOf(row), regions };
}
