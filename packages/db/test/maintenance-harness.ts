import type { Selector } from '@tocsin/contracts/labels/selector';
import { type WebhookPayload, webhookPayloadSchema } from '@tocsin/contracts/deliveries/webhook';
import { systemActor } from '@tocsin/db/audit-log/actor';
import { createChannel } from '@tocsin/db/channels/write-channels';
import { recordChecks } from '@tocsin/db/checks/record-checks';
import type { CheckRecord } from '@tocsin/db/checks/check-record';
import { advanceWindows } from '@tocsin/db/maintenance-windows/advance-windows';
import { settleMaintenance } from '@tocsin/db/maintenance-windows/settle-maintenance';
import { maintenanceOccurrences } from '@tocsin/db/maintenance-windows/table';
import { createMaintenanceWindow } from '@tocsin/db/maintenance-windows/create-window';
import { monitors } from '@tocsin/db/monitors/table';
import { statusChanges } from '@tocsin/db/status-changes/table';
import { asc, eq, sql } from 'drizzle-orm';
import { makeMonitor, type TestContext } from './harness.ts';

const HOUR_MS = 3_600_000;

/** Runs one round of the maintenance clock. @returns the number of monitors that it changed */
export async function tick({ db }: TestContext): Promise<number> {
  let moved = 0;
  for (;;) {
    await advanceWindows(db);
    const { monitors: count } = await settleMaintenance(db);
    if (count === 0) return moved;
    moved += count;
  }
}

/** Fields of a window that covers nothing. */
export const WINDOW = {
  name: 'Upgrade',
  monitorIds: [],
  externalIds: [],
  selector: null,
  allMonitors: false,
  rrule: null,
  timeZone: 'UTC',
  externalId: null,
  source: null,
};

/** Makes a window of an hour that begins in an hour. @returns its id */
export async function makeWindow(
  context: TestContext,
  monitorIds: readonly string[],
  fields: { rrule?: string | null; selector?: Selector } = {},
): Promise<string> {
  const startsAt = new Date(Date.now() + HOUR_MS);
  const { maintenanceWindow } = await createMaintenanceWindow(context, systemActor(context.accountId), {
    ...WINDOW,
    startsAt,
    endsAt: new Date(startsAt.getTime() + HOUR_MS),
    monitorIds: [...monitorIds],
    ...fields,
  });
  return maintenanceWindow.id;
}

/** Moves a window in time, as if time had passed. @param startedMsAgo negative for a window that has not begun */
export async function moveWindow(context: TestContext, id: string, startedMsAgo: number): Promise<void> {
  await context.db.execute(sql`
    with moved as (select clock_timestamp() - ${startedMsAgo} * interval '1 millisecond' as starts_at)
    update maintenance_windows w set
      starts_at = m.starts_at, occurrence_starts_at = m.starts_at,
      ends_at = m.starts_at + interval '1 hour', occurrence_ends_at = m.starts_at + interval '1 hour'
    from moved m where w.id = ${id}`);
}

/** Lets the window begin just now. */
export async function begin(context: TestContext, id: string): Promise<void> {
  await moveWindow(context, id, 1);
  await tick(context);
}

/** Lets the window end just now. */
export async function end(context: TestContext, id: string): Promise<void> {
  await moveWindow(context, id, HOUR_MS + 1);
  await tick(context);
}

/** Makes a monitor with a channel and these checks. */
export async function makeWatched(
  context: TestContext,
  checks: readonly ((id: string) => CheckRecord)[],
  fields: Record<string, unknown> = {},
): Promise<string> {
  const { id } = await makeMonitor(context, fields);
  await createChannel(context, systemActor(context.accountId), {
    name: 'ops',
    url: 'https://hooks.example',
    monitorIds: [id],
  });
  for (const check of checks) await recordChecks(context.db, [check(id)]);
  return id;
}

export async function rowOf(context: TestContext, id: string): Promise<typeof monitors.$inferSelect> {
  const [row] = await context.db.select().from(monitors).where(eq(monitors.id, id));
  if (!row) throw new Error('no monitor');
  return row;
}

/** Lists the status changes of a monitor in the form `UP>MAINTENANCE`. */
export async function changesOf(context: TestContext, id: string): Promise<string[]> {
  const rows = await context.db
    .select()
    .from(statusChanges)
    .where(eq(statusChanges.monitorId, id))
    .orderBy(asc(statusChanges.timestamp));
  return rows.map((row) => `${row.fromStatus}>${row.toStatus}`);
}

/** Lists a monitor's webhook events by timestamp. */
export async function payloadsOf(context: TestContext, id: string): Promise<WebhookPayload[]> {
  const rows = await context.db
    .select()
    .from(statusChanges)
    .where(eq(statusChanges.monitorId, id))
    .orderBy(asc(statusChanges.timestamp));
  return rows.flatMap((row) =>
    row.webhookEvents.map(({ payload }) => webhookPayloadSchema.parse(JSON.parse(payload))),
  );
}

/** Lists the webhook events since maintenance began in the form `monitor.down MAINTENANCE>DOWN`. */
export async function storyOf(context: TestContext, id: string): Promise<string[]> {
  const all = (await payloadsOf(context, id)).map(
    ({ event, previousStatus, status }) => `${event} ${previousStatus}>${status}`,
  );
  return all.slice(all.findIndex((line) => line.startsWith('monitor.maintenance')));
}

export async function outcomesOf(context: TestContext, windowId: string): Promise<string[]> {
  const rows = await context.db
    .select()
    .from(maintenanceOccurrences)
    .where(eq(maintenanceOccurrences.windowId, windowId))
    .orderBy(asc(maintenanceOccurrences.startsAt));
  return rows.map((row) => row.outcome);
}
