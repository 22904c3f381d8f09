import { LIMITS } from '@tocsin/contracts/limits';
import type { Event } from '@tocsin/contracts/monitors/events';
import type { Monitor } from '@tocsin/contracts/monitors/monitor';
import { and, eq } from 'drizzle-orm';
import { requireFound } from '../database/errors.ts';
import type { DbContext } from '../database/open.ts';
import { readPage } from '../events/read-events.ts';
import { toMonitor, type Viewer } from './monitor-codec.ts';
import { versionOf } from './monitor-row.ts';
import { monitors } from './table.ts';

/** Reads a monitor with its 10 most recent events, newest first. @throws AppError not_found */
export async function getMonitor(
  context: DbContext,
  viewer: Viewer,
  id: string,
): Promise<{ monitor: Monitor; events: Event[]; version: string }> {
  const of = { accountId: viewer.accountId, monitorId: id };
  const { monitor: row, found: events } = await readPage(context.db, of, LIMITS.recentEvents, null);
  return { monitor: toMonitor(row, context.secrets, viewer), events, version: versionOf(row) };
}

/** Reads a monitor without its events. @throws AppError not_found */
export async function getMonitorByExternalId(
  context: DbContext,
  viewer: Viewer,
  externalId: string,
): Promise<{ monitor: Monitor; version: string }> {
  const isThis = and(eq(monitors.accountId, viewer.accountId), eq(monitors.externalId, externalId));
  const row = requireFound(await context.db.select().from(monitors).where(isThis), 'monitor', 'externalId');
  return { monitor: toMonitor(row, context.secrets, viewer), version: versionOf(row) };
}
