import { AppError, type FieldError } from '@tocsin/contracts/errors';
import type {
  CliMaintenanceWindowInput,
  MaintenanceWindow,
} from '@tocsin/contracts/maintenance-windows/maintenance-window';
import { z } from 'zod';
import { lockAssignments } from '../assignments/assignments.ts';
import type { Actor } from '../audit-log/actor.ts';
import { recordAudit, recordOf } from '../audit-log/record-audit.ts';
import type { DbContext, Transaction } from '../database/open.ts';
import { arrayOf, query, readClock } from '../database/sql.ts';
import { findResult, storeResult } from '../idempotency-keys/stored-results.ts';
import { auditedWindow, readCoveredIds } from './read-windows.ts';
import { requireOwnMonitors } from './window-sources.ts';
import { type ChangedWindow, insertWindow, type NewWindow, validateWindow } from './write-windows.ts';

/** Keeps a response from being larger than its request. */
const MAX_ERRORS = 100;

interface StoredWindow {
  readonly maintenanceWindow: MaintenanceWindow;
  /** Number of monitors that the window covered when it was created. */
  readonly monitorCount: number;
}

export interface CreatedWindow extends StoredWindow, ChangedWindow {
  /** True if an earlier request with the same key created it. */
  readonly isReplayed: boolean;
}

/**
 * Plans maintenance for a program. A window that starts now takes effect with the commit. A repeated request gets the window as it was
 * created.
 * @throws AppError validation_failed, source_not_allowed, request_in_flight, idempotency_key_reused
 */
export async function createWindowByKey(
  { db, secrets }: DbContext,
  actor: Actor,
  input: CliMaintenanceWindowInput,
  key?: string,
): Promise<CreatedWindow> {
  const { accountId, sources } = actor;
  // The request includes the sources, because an actor with other sources would get another window.
  const request = { maintenanceWindow: input, sources };
  const repeatable = key === undefined ? null : { accountId, key, request, secrets };
  return db.transaction(async (tx) => {
    const stored = repeatable && (await findResult<StoredWindow>(tx, repeatable));
    if (stored) return { ...stored, coveredIds: [], isReplayed: true };
    await lockAssignments(tx, accountId, 'exclusive');
    const window = { ...(await toNewWindow(tx, accountId, input)), sources: sources && [...sources] };
    await requireOwnMonitors(tx, actor, window.monitorIds);
    const maintenanceWindow = await insertWindow(tx, actor, window, 'running');
    const coveredIds = await readCoveredIds(tx, maintenanceWindow.id);
    const created = { maintenanceWindow, monitorCount: coveredIds.length };
    if (repeatable) await storeResult(tx, repeatable, created);
    const audited = auditedWindow({ ...maintenanceWindow, sources });
    await recordAudit(tx, actor, recordOf('maintenanceWindow', null, audited));
    const begins = maintenanceWindow.state === 'running';
    return { ...created, coveredIds: begins ? coveredIds : [], isReplayed: false };
  });
}

/** Fills in the start, the end and the ids of a valid window. @throws AppError validation_failed */
async function toNewWindow(
  tx: Transaction,
  accountId: string,
  { externalIds, durationSeconds = 0, ...input }: CliMaintenanceWindowInput,
): Promise<NewWindow> {
  const startsAt = input.startsAt ?? new Date(await readClock(tx));
  const endsAt = input.endsAt ?? new Date(startsAt.getTime() + durationSeconds * 1_000);
  const schedule = { ...input, startsAt, endsAt };
  const { ids, unknown } = await findByExternalIds(tx, accountId, externalIds);
  // Monitors that it names by their externalIds count as well.
  const { monitorIds: named, ...rest } = schedule;
  const scope = externalIds.length > 0 && named.length === 0 ? rest : schedule;
  const errors = [...(await validateWindow(tx, accountId, scope)), ...unknown];
  if (errors.length > 0) {
    throw new AppError('validation_failed', 'The maintenance window is not valid.', {
      errors: errors.slice(0, MAX_ERRORS),
    });
  }
  return { ...schedule, monitorIds: [...new Set([...named, ...ids])] };
}

const monitorRow = z.object({ id: z.string(), externalId: z.string() });

async function findByExternalIds(
  tx: Transaction,
  accountId: string,
  externalIds: readonly string[],
): Promise<{ readonly ids: readonly string[]; readonly unknown: readonly FieldError[] }> {
  const rows = await query(tx, monitorRow)`
    select id, external_id from monitors
    where account_id = ${accountId} and external_id = any(${arrayOf('text', externalIds)})`;
  const known = new Set(rows.map(({ externalId }) => externalId));
  const message = 'is not the externalId of a monitor of this account';
  return {
    ids: rows.map(({ id }) => id),
    unknown: externalIds.flatMap((externalId, index) =>
      known.has(externalId) ? [] : [{ path: `externalIds.${index}`, message }],
    ),
  };
}
