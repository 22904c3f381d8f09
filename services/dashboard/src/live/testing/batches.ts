import type { Event, StatusChange } from '@tocsin/contracts/monitors/events';
import type { MonitorOverview } from '@tocsin/contracts/monitors/overview';
import { overviewWith } from '../../monitors/testing/records.ts';
import type { LiveBatch } from '../live-stream.ts';

export const EARLY = '2026-03-01T12:00:00.000Z';
export const LATE = '2026-03-01T12:05:00.000Z';
export const LATER = '2026-03-01T12:10:00.000Z';
export const LATEST = '2026-03-01T12:15:00.000Z';

/** A monitor that is UP since `LATE`. */
export function monitorOf(id: string): MonitorOverview {
  return overviewWith({ id, statusSince: LATE, lastCheckedAt: LATE });
}

export function batchOf(batch: {
  checks?: Partial<Event>[];
  statusChanges?: Partial<StatusChange>[];
  reset?: true;
}): LiveBatch {
  const checks = (batch.checks ?? []).map((check) => Object.assign({ url: null }, check));
  return { statusChanges: [], reset: false, ...batch, checks } as LiveBatch;
}
