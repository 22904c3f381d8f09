import { AppError, type FieldError } from '@tocsin/contracts/errors';
import type {
  MaintenanceWindow,
  MaintenanceWindowInput,
} from '@tocsin/contracts/maintenance-windows/maintenance-window';
import { z } from 'zod';
import { lockAssignments } from '../assignments/assignments.ts';
import type { Actor } from '../audit-log/actor.ts';
import { requireQuotas, type WriteContext } from '../accounts/quotas.ts';
import { recordAudit, recordOf } from '../audit-log/record-audit.ts';
import { rethrowConflict } from '../database/errors.ts';
import type { Transaction } from '../database/open.ts';
import { arrayOf, query, readClock } from '../database/sql.ts';
import { findResult, storeResult } from '../idempotency-keys/stored-results.ts';
import { auditedWindow, readCoveredIds } from './read-windows.ts';
import { requireOwnMonitors, requireWindowSource } from './window-sources.ts';
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

type WindowInput = Pick<MaintenanceWindowInput, 'name'> & Partial<MaintenanceWindowInput>;

/**
 * Plans maintenance. If it starts now, it runs from the commit on. A repeated request gets the window as it was created.
 * @throws AppError validation_failed, source_not_allowed, conflict if the externalId is taken, quota_exceeded, request_in_flight,
 * idempotency_key_reused
 */
export async function createMaintenanceWindow(
  { db, secrets, quotas }: WriteContext,
  actor: Actor,
  input: WindowInput,
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
      requireWindowSource(actor, window.source);
      await requireOwnMonitors(tx, actor, window.monitorIds);
      const maintenanceWindow = await insertWindow(tx, actor, window);
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
  { externalIds = [], durationSeconds = 0, ...input }: WindowInput,
): Promise<Omit<NewWindow, 'sources'>> {
  const startsAt = input.startsAt ?? new Date(await readClock(tx));
  const endsAt = input.endsAt ?? new Date(startsAt.getTime() + durationSeconds * 1_000);
  const { monitorIds = [], selector = null, allMonitors = false, rrule = null, timeZone = 'UTC' } = input;
  const { externalId = null, source = null, name } = input;
  const keys = { externalId, source };
  const schedule = { ...keys, name, monitorIds, selector, allMonitors, rrule, timeZone, startsAt, endsAt };
  const { ids, unknown } = await findByExternalIds(tx, accountId, externalIds);
  const errors = [...(await validateWindow(tx, accountId, { ...schedule, externalIds })), ...unknown];
  if (errors.length > 0) {
    throw new AppError('validation_failed', 'The maintenance window is not valid.', {
      errors: errors.slice(0, MAX_ERRORS),
    });
  }
  return { ...schedule, monitorIds: [...new Set([...monitorIds, ...ids])] };
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
      known.has(externalId) ? [] : [{ path: `externalIds.${index}`, code: 'not_found', message }],
    ),
  };
}
