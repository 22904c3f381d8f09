import type { RegionState } from '@tocsin/core/status/apply-check';
import { sql } from 'drizzle-orm';
import { v7 as uuidv7 } from 'uuid';
import type { Transaction } from '../database/open.ts';
import { prepared } from '../database/preparing-client.ts';
import { arrayOf, columnOf } from '../database/sql.ts';
import type { LockedMonitor } from './lock-monitors.ts';
import type { CheckRecord } from './record-checks.ts';

function isoOrNull(time: number | null): string | null {
  return time === null ? null : new Date(time).toISOString();
}

/** Writes the events of a batch in one statement. */
export async function insertEvents(
  tx: Transaction,
  recorded: readonly { check: CheckRecord; timestamp: number }[],
): Promise<void> {
  await tx.execute(sql`${prepared}
    insert into events (monitor_id, timestamp, id, status, latency_ms, status_code, error_reason, error_detail, region,
      source, slot, url, dns_ms, tcp_ms, tls_ms, first_byte_ms, download_ms)
    select * from unnest(
      ${columnOf(recorded, 'uuid', ({ check }) => check.monitorId)},
      ${columnOf(recorded, 'timestamptz', ({ timestamp }) => isoOrNull(timestamp))},
      ${columnOf(recorded, 'uuid', () => uuidv7())},
      ${columnOf(recorded, 'text', ({ check }) => check.status)},
      ${columnOf(recorded, 'int', ({ check }) => check.latencyMs)},
      ${columnOf(recorded, 'int', ({ check }) => check.statusCode)},
      ${columnOf(recorded, 'text', ({ check }) => check.errorReason)},
      ${columnOf(recorded, 'text', ({ check }) => check.errorDetail)},
      ${columnOf(recorded, 'text', ({ check }) => check.region)},
      ${columnOf(recorded, 'text', ({ check }) => check.source)},
      ${columnOf(recorded, 'timestamptz', ({ check }) => isoOrNull(check.slot))},
      ${columnOf(recorded, 'text', ({ check }) => check.urlOverride)},
      ${columnOf(recorded, 'int', ({ check }) => check.timings.dns)},
      ${columnOf(recorded, 'int', ({ check }) => check.timings.tcp)},
      ${columnOf(recorded, 'int', ({ check }) => check.timings.tls)},
      ${columnOf(recorded, 'int', ({ check }) => check.timings.firstByte)},
      ${columnOf(recorded, 'int', ({ check }) => check.timings.download)})`);
}

/** What a batch changes of one region of a monitor. */
export interface RegionUpdate {
  readonly monitorId: string;
  readonly state: RegionState;
  readonly certificateExpiresAt: Date | null;
}

/** Writes the region states of a batch in one statement. */
export async function updateRegions(tx: Transaction, updates: readonly RegionUpdate[]): Promise<void> {
  await tx.execute(sql`${prepared}
    update monitor_regions r set
      consecutive_failures = u.failures,
      last_result_at = u.result_at,
      since = u.since,
      last_latency_ms = u.latency,
      last_error_reason = u.reason,
      recent_slots = u.slots::bigint[],
      certificate_expires_at = coalesce(u.certificate, r.certificate_expires_at)
    from unnest(
      ${columnOf(updates, 'uuid', (update) => update.monitorId)},
      ${columnOf(updates, 'text', ({ state }) => state.region)},
      ${columnOf(updates, 'int', ({ state }) => state.consecutiveFailures)},
      ${columnOf(updates, 'timestamptz', ({ state }) => isoOrNull(state.lastResultAt))},
      ${columnOf(updates, 'timestamptz', ({ state }) => isoOrNull(state.since))},
      ${columnOf(updates, 'int', ({ state }) => state.lastLatencyMs)},
      ${columnOf(updates, 'text', ({ state }) => state.lastErrorReason)},
      ${columnOf(updates, 'text', ({ state }) => `{${state.recentSlots.join(',')}}`)},
      ${columnOf(updates, 'timestamptz', (update) => update.certificateExpiresAt?.toISOString() ?? null)}
    ) as u (monitor_id, region, failures, result_at, since, latency, reason, slots, certificate)
    where r.monitor_id = u.monitor_id and r.region = u.region`);
}

/** Writes the statuses and clocks of a batch's monitors in one statement. */
export async function updateMonitors(tx: Transaction, monitors: readonly LockedMonitor[]): Promise<void> {
  await tx.execute(sql`${prepared}
    update monitors m set
      status = u.status,
      status_since = coalesce(u.status_since, m.status_since),
      status_before_maintenance = u.status_before,
      last_checked_at = coalesce(u.checked_at, m.last_checked_at),
      last_timestamp = u.last_timestamp
    from unnest(
      ${columnOf(monitors, 'uuid', (monitor) => monitor.id)},
      ${columnOf(monitors, 'text', (monitor) => monitor.status)},
      ${columnOf(monitors, 'timestamptz', (monitor) => isoOrNull(monitor.statusSince))},
      ${columnOf(monitors, 'text', (monitor) => monitor.statusBeforeMaintenance)},
      ${columnOf(monitors, 'timestamptz', (monitor) => isoOrNull(monitor.lastCheckedAt))},
      ${columnOf(monitors, 'timestamptz', (monitor) => isoOrNull(monitor.clock.last))}
    ) as u (id, status, status_since, status_before, checked_at, last_timestamp)
    where m.id = u.id`);
}

/** Tells who waits for a triggered check which event it became. */
export async function settleTriggers(
  tx: Transaction,
  recorded: readonly { check: CheckRecord; timestamp: number }[],
): Promise<void> {
  const triggered = recorded.filter(({ check }) => check.triggerId !== null);
  if (triggered.length === 0) return;
  await tx.execute(sql`
    update triggers t set event_timestamp = u.timestamp
    from unnest(
      ${columnOf(triggered, 'uuid', ({ check }) => check.triggerId)},
      ${columnOf(triggered, 'timestamptz', ({ timestamp }) => isoOrNull(timestamp))}
    ) as u (id, timestamp)
    where t.id = u.id`);
}

/** Which of the checks' triggers have their event already: a batch may be recorded again if its commit went unanswered. */
export async function settledTriggers(tx: Transaction, checks: readonly CheckRecord[]): Promise<Set<string>> {
  const ids = checks.flatMap(({ triggerId }) => triggerId ?? []);
  if (ids.length === 0) return new Set();
  const { rows } = await tx.execute<{ id: string }>(
    sql`select id from triggers where id = any(${arrayOf('uuid', ids)}) and event_timestamp is not null`,
  );
  return new Set(rows.map((row) => row.id));
}

/**
 * The results whose slot is an event already although no region remembers it: the region checks the monitor no longer, or was
 * taken away and given back. They are recorded, as every check that ran (specification "Monitor event"), but once. Asks only
 * where there is such a result.
 */
export async function repeatedChecks(
  tx: Transaction,
  checks: readonly CheckRecord[],
  monitors: ReadonlyMap<string, LockedMonitor>,
): Promise<ReadonlySet<CheckRecord>> {
  const forgotten = checks.filter((check) => isForgotten(check, monitors.get(check.monitorId)));
  if (forgotten.length === 0) return new Set();
  // The slot is of the checker's clock or the queue's, the stamp of Postgres': an hour apart at most.
  const { rows } = await tx.execute<{ index: number }>(sql`
    select u.index from unnest(
      ${columnOf([...forgotten.keys()], 'int', (index) => index)},
      ${columnOf(forgotten, 'uuid', (check) => check.monitorId)},
      ${columnOf(forgotten, 'text', (check) => check.region)},
      ${columnOf(forgotten, 'timestamptz', ({ slot }) => new Date(slot ?? 0).toISOString())}
    ) as u (index, monitor_id, region, slot)
    where exists (
      select from events e
      where e.monitor_id = u.monitor_id and e.timestamp > u.slot - interval '1 hour'
        and e.slot = u.slot and e.region = u.region)`);
  return new Set(rows.flatMap(({ index }) => forgotten[index] ?? []));
}

function isForgotten({ region, slot }: CheckRecord, monitor: LockedMonitor | undefined): boolean {
  if (monitor === undefined || slot === null) return false;
  const state = monitor.regions.get(region);
  return state === undefined || (state.recentSlots.length === 0 && slot < state.since);
}
