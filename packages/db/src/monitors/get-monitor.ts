import type { Event } from '@tocsin/contracts/event';
import { LIMITS } from '@tocsin/contracts/limits';
import type { Monitor } from '@tocsin/contracts/monitor';
import type { DbContext } from '../database/context.ts';
import { recentEvents } from '../events/list-events.ts';
import { findMonitorRow } from './find-monitor-row.ts';
import { toMonitor } from './monitor-columns.ts';
import { versionOf } from './monitor-version.ts';

/** A monitor with its 10 most recent events, newest first. @throws AppError not_found */
export async function getMonitor(
  context: DbContext,
  accountId: string,
  id: string,
): Promise<{ monitor: Monitor; events: Event[]; version: string }> {
  const row = await findMonitorRow(context.db, accountId, id);
  const events = await recentEvents(context.db, row, LIMITS.recentEvents);
  return { monitor: toMonitor(row, context.secrets), events, version: versionOf(row) };
}
