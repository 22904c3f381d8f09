import { durationBucketOf } from '@tocsin/core/stats/latency-histogram';
import { sql } from 'drizzle-orm';
import { z } from 'zod';
import type { Transaction } from '../database/open.ts';
import { PREPARE } from '../database/preparing-client.ts';
import {
  arrayOf,
  columnNames,
  type Columns,
  queryColumn,
  query,
  tableOf,
  inOneRoundTrip,
} from '../database/sql.ts';
import { storedEvents } from '../events/stored-events.ts';
import type { LockedMonitor } from '../status-changes/locked-monitor.ts';
import type { CheckRecord, RecordedCheck, SealResponse } from './check-record.ts';

const HOUR_MS = 3_600_000;

const EVENT_COLUMNS: Columns<RecordedCheck & { readonly sealedResponse: string | null }> = {
  monitor_id: ['uuid', ({ check }) => check.monitorId],
  timestamp: ['timestamptz', ({ decided }) => decided.timestamp],
  status: ['text', ({ check }) => check.status],
  latency_ms: ['int', ({ check }) => check.latencyMs],
  status_code: ['int', ({ check }) => check.statusCode],
  error_reason: ['text', ({ check }) => check.errorReason],
  error_detail: ['text', ({ check }) => check.errorDetail],
  inconclusive: ['bool', ({ decided }) => decided.inconclusive],
  sealed_response: ['text', ({ sealedResponse }) => sealedResponse],
  region: ['text', ({ check }) => check.region],
  source: ['text', ({ check }) => check.source],
  slot: ['timestamptz', ({ check }) => check.slot],
  url: ['text', ({ check }) => check.urlOverride],
  dns_ms: ['int', ({ check }) => check.timings.dns],
  tcp_ms: ['int', ({ check }) => check.timings.tcp],
  tls_ms: ['int', ({ check }) => check.timings.tls],
  first_byte_ms: ['int', ({ check }) => check.timings.firstByte],
  download_ms: ['int', ({ check }) => check.timings.download],
};

export async function insertEvents(
  tx: Transaction,
  recorded: readonly RecordedCheck[],
  sealResponse: SealResponse,
): Promise<void> {
  if (recorded.length === 0) return;
  const rows = recorded.map(({ check, decided }) => {
    return { check, decided, sealedResponse: decided.isFirstFailure ? sealResponse(check) : null };
  });
  await tx.execute(sql`${PREPARE}
    insert into events (${columnNames(EVENT_COLUMNS)}, id)
    select u.*, event_id(monitor_id, "timestamp") from ${tableOf('u', rows, EVENT_COLUMNS)}`);
}

/** Writes the region states of a batch. Counts each check in its own region only. */
export async function updateRegions(tx: Transaction, recorded: readonly RecordedCheck[]): Promise<void> {
  const updates = recorded.flatMap(({ check, decided }) =>
    decided.regions.map(({ state, certificateExpiresAt, checkedAt }) => {
      const result = checkedAt === null ? null : resultOf(check, decided.inconclusive);
      const counts = result !== null && result !== 'inconclusive' && check.statusCode !== null;
      const durationMs = counts ? check.latencyMs : null;
      return { monitorId: check.monitorId, state, certificateExpiresAt, checkedAt, result, durationMs };
    }),
  );
  if (updates.length === 0) return;
  await tx.execute(sql`${PREPARE}
    update monitor_regions r set
      consecutive_failures = u.failures,
      recovery_passes = u.recovery_passes,
      last_result_at = u.result_at,
      last_checked_at = coalesce(u.checked_at, r.last_checked_at),
      since = u.since,
      last_latency_ms = u.latency,
      last_error_reason = u.reason,
      last_error_detail = u.detail,
      recent_slots = u.slots::bigint[],
      doubtful = u.doubtful,
      certificate_expires_at = coalesce(u.certificate, r.certificate_expires_at),
      up_checks = r.up_checks + (u.result = 'up')::int,
      down_checks = r.down_checks + (u.result = 'down')::int,
      inconclusive_checks = r.inconclusive_checks + (u.result = 'inconclusive')::int,
      duration_counts[u.bucket] = r.duration_counts[u.bucket] + (u.duration is not null)::int,
      duration_sum_ms = r.duration_sum_ms + coalesce(u.duration, 0)
    from ${tableOf('u', updates, {
      monitor_id: ['uuid', ({ monitorId }) => monitorId],
      region: ['text', ({ state }) => state.region],
      failures: ['int', ({ state }) => state.consecutiveFailures],
      recovery_passes: ['int', ({ state }) => state.recoveryPasses],
      result_at: ['timestamptz', ({ state }) => state.lastResultAt],
      checked_at: ['timestamptz', ({ checkedAt }) => checkedAt],
      since: ['timestamptz', ({ state }) => state.since],
      latency: ['int', ({ state }) => state.lastLatencyMs],
      reason: ['text', ({ state }) => state.lastErrorReason],
      detail: ['text', ({ state }) => state.lastErrorDetail],
      slots: ['text', ({ state }) => `{${state.recentSlots.join(',')}}`],
      doubtful: ['bool', ({ state }) => state.doubtful],
      certificate: ['timestamptz', ({ certificateExpiresAt }) => certificateExpiresAt],
      result: ['text', ({ result }) => result ?? 'none'],
      // PostgreSQL's arrays begin at 1. A null subscript would be an error.
      bucket: ['int', ({ durationMs }) => 1 + durationBucketOf(durationMs ?? 0)],
      duration: ['int', ({ durationMs }) => durationMs],
    })}
    where r.monitor_id = u.monitor_id and r.region = u.region`);
}

function resultOf({ status }: CheckRecord, inconclusive: boolean): 'up' | 'down' | 'inconclusive' {
  if (inconclusive) return 'inconclusive';
  return status === 'UP' ? 'up' : 'down';
}

/** Links each waiting trigger to the event of its check. */
export async function settleTriggers(tx: Transaction, recorded: readonly RecordedCheck[]): Promise<void> {
  const triggered = recorded.filter(({ check }) => check.triggerId !== null);
  if (triggered.length === 0) return;
  await tx.execute(sql`
    update triggers t set event_timestamp = u.timestamp
    from ${tableOf('u', triggered, {
      id: ['uuid', ({ check }) => check.triggerId],
      timestamp: ['timestamptz', ({ decided }) => decided.timestamp],
    })}
    where t.id = u.id`);
}

/** Returns the monitors of these checks that exist, even if another session has locked them. */
export async function findExisting(tx: Transaction, checks: readonly CheckRecord[]): Promise<Set<string>> {
  if (checks.length === 0) return new Set();
  const ids = new Set(checks.map(({ monitorId }) => monitorId));
  return new Set(await queryColumn(tx)`select id from monitors where id = any(${arrayOf('uuid', [...ids])})`);
}

/** Returns the results that are already recorded, although the region states do not show them. */
export async function findRepeated(
  tx: Transaction,
  checks: readonly CheckRecord[],
  monitors: ReadonlyMap<string, LockedMonitor>,
): Promise<ReadonlySet<CheckRecord>> {
  const found = await inOneRoundTrip(findSettled(tx, checks), findForgotten(tx, checks, monitors));
  return new Set(found.flat());
}

/** Returns results whose trigger already has its event. A batch is recorded again if the response to its commit was lost. */
async function findSettled(tx: Transaction, checks: readonly CheckRecord[]) {
  const ids = checks.flatMap(({ triggerId }) => triggerId ?? []);
  if (ids.length === 0) return [];
  const settled = await queryColumn(tx)`
    select id from triggers where id = any(${arrayOf('uuid', ids)}) and event_timestamp is not null`;
  return checks.filter(({ triggerId }) => triggerId !== null && settled.includes(triggerId));
}

/** Returns results whose slot has an event that the region no longer remembers, because it was removed or the result is late. */
async function findForgotten(
  tx: Transaction,
  checks: readonly CheckRecord[],
  monitors: ReadonlyMap<string, LockedMonitor>,
) {
  const forgotten = checks.filter(({ monitorId, region, slot }) => {
    const monitor = monitors.get(monitorId);
    if (monitor === undefined || slot === null) return false;
    const state = monitor.regions.find((one) => one.region === region);
    if (state === undefined || (state.recentSlots.length === 0 && slot < state.since)) return true;
    return state.recentSlots.some((recent) => recent > slot);
  });
  if (forgotten.length === 0) return [];
  // The slot is from the checker's or the queue's clock, the timestamp from PostgreSQL's. They are at most an hour apart.
  const rows = await query(tx, z.object({ index: z.number() }))`
    select u.index from ${tableOf('u', [...forgotten.entries()], {
      index: ['int', ([index]) => index],
      monitor_id: ['uuid', ([, check]) => check.monitorId],
      region: ['text', ([, check]) => check.region],
      slot: ['timestamptz', ([, check]) => check.slot],
    })}
    where exists (select from ${storedEvents({
      of: sql`monitor_id = u.monitor_id`,
      after: Math.min(...forgotten.map(({ slot }) => slot ?? Infinity)) - HOUR_MS,
      within: { after: sql`u.slot - interval '1 hour'` },
      where: sql`slot = u.slot and region = u.region`,
    })})`;
  return rows.flatMap(({ index }) => forgotten[index] ?? []);
}
