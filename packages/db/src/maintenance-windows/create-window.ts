import { AppError, type FieldError } from '@tocsin/contracts/errors';
import type {
  MaintenanceWindow,
  MaintenanceWindowInput,
} from '@tocsin/contracts/maintenance-windows/maintenance-window';
import { lockAssignments } from '../assignments/assignments.ts';
import type { Actor } from '../audit-log/actor.ts';
import { requireQuotas, type WriteContext } from '../accounts/quotas.ts';
import { recordAudit, recordOf } from '../audit-log/record-audit.ts';
import { rethrowConflict } from '../database/errors.ts';
import type { Transaction } from '../database/open.ts';
import { readClock } from '../database/sql.ts';
import { findResult, storeResult } from '../idempotency-keys/stored-results.ts';
import { findByExternalIds } from '../monitors/monitor-row.ts';
import { auditedWindow, readCoveredIds } from './read-windows.ts';
import { requireOwnWindow } from './window-sources.ts';
import { type ChangedWindow, insertWindow, type NewWindow, validateWindow } from './write-windows.ts';

/** Keeps a response from being larger than its request. */
const MAX_ERRORS = 100;

interface StoredResult {
  readonly maintenanceWindow: MaintenanceWindow;
  /** Number of monitors that the window covered when it was created. */
  readonly monitorCount: number;
}

export interface CreatedWindow extends StoredResult, ChangedWindow {
  /** True if an earlier request with the same key created it. */
  readonly isReplayed: boolean;
}

/**
 * Plans maintenance. If it starts now, it runs from the commit on. A repeated request gets the window as it was created.
 * @throws AppError validation_failed, source_not_allowed, conflict if the externalId is taken, quota_exceeded, request_in_flight,
 * idempotency_key_reused
 */
export async function createMaintenanceWindow(
  { db, secrets, quotas }: WriteContext,
  actor: Actor,
  input: MaintenanceWindowInput,
  key?: string,
): Promise<CreatedWindow> {
  const { accountId, sources } = actor;
  // An actor with other sources would get another window.
  const request = { accountId, key, request: { maintenanceWindow: input, sources }, secrets };
  return db
    .transaction(async (tx) => {
      const stored = await findResult<StoredResult>(tx, request);
      if (stored) return { ...stored, coveredIds: [], isReplayed: true };
      await lockAssignments(tx, accountId, 'exclusive');
      const window = { ...(await toNewWindow(tx, accountId, input)), sources: sources && [...sources] };
      const maintenanceWindow = await insertWindow(tx, actor, window);
      await requireOwnWindow(tx, actor, maintenanceWindow);
      const coveredIds = await readCoveredIds(tx, maintenanceWindow.id);
      const created = { maintenanceWindow, monitorCount: coveredIds.length };
      await storeResult(tx, request, maintenanceWindow.id, created);
      await recordAudit(tx, actor, recordOf('maintenanceWindow', null, auditedWindow(maintenanceWindow)));
      await requireQuotas(tx, accountId, { quotas }, { maintenanceWindows: 1 });
      const begins = maintenanceWindow.state === 'running';
      return { ...created, coveredIds: begins ? coveredIds : [], isReplayed: false };
    })
    .catch(rethrowConflict(db, accountId, input.externalId));
}

/** Fills in the start, the end and the ids of a valid window. @throws AppError validation_failed */
async function toNewWindow(
  tx: Transaction,
  accountId: string,
  { externalIds, durationSeconds = 0, ...input }: MaintenanceWindowInput,
): Promise<Omit<NewWindow, 'sources'>> {
  const startsAt = input.startsAt ?? new Date(await readClock(tx));
  const endsAt = input.endsAt ?? new Date(startsAt.getTime() + durationSeconds * 1_000);
  const window = { ...input, startsAt, endsAt };
  const found = await findByExternalIds(tx, accountId, externalIds);
  const message = 'is not the externalId of a monitor of this account';
  const unknown = externalIds.flatMap((externalId, index): FieldError[] =>
    found.has(externalId) ? [] : [{ path: `externalIds.${index}`, code: 'not_found', message }],
  );
  const errors = [...(await validateWindow(tx, accountId, { ...window, externalIds })), ...unknown];
  if (errors.length > 0) {
    throw new AppError('validation_failed', 'The maintenance window is not valid.', {
      errors: errors.slice(0, MAX_ERRORS),
    });
  }
  return { ...window, monitorIds: [...new Set([...input.monitorIds, ...found.values()])] };
}
