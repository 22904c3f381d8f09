import { queryOptions, useQuery } from '@tanstack/react-query';
import type { MonitorOverview } from '@tocsin/contracts/monitors/overview';
import type { Region } from '@tocsin/contracts/regions/region';
import { refreshEvery } from '../api/query-client.ts';
import { api } from '../api/request.ts';
import { joinWords } from '../components/format.ts';

/** Grace period of scheduled checks (docs/concepts/slots.md). */
const LATE_SECONDS = 15;
/** The api caches these numbers for the same time. */
export const REFRESH_EVERY_MS = 5_000;
/** Interval outside the regions page. An inconclusive check also refreshes the regions (live/apply-to-cache.ts). */
export const REFRESH_ELSEWHERE_MS = 15_000;
const URGENCY = ['unserved', 'unknown', 'late', 'serving', 'idle'] as const;

export type RegionState = (typeof URGENCY)[number];

export const regionsQuery = queryOptions({
  queryKey: ['regions'],
  queryFn: async ({ signal }) => (await api('GET /api/dashboard/regions', { signal })).regions,
  refetchInterval: REFRESH_EVERY_MS,
});

/** `unserved` means that a region has monitors but neither checkers nor agents. */
export function regionState({ served, lagSeconds, lateSince, monitors }: Region): RegionState {
  if (served === null) return 'unknown';
  if (!served) return monitors > 0 ? 'unserved' : 'idle';
  return lateSince !== null || (lagSeconds ?? 0) >= LATE_SECONDS ? 'late' : 'serving';
}

/** Sorts the regions that need attention first, then by code. */
export function byUrgency(regions: readonly Region[]): Region[] {
  return regions.toSorted((a, b) => urgencyOf(a) - urgencyOf(b) || a.region.localeCompare(b.region));
}

function urgencyOf(region: Region): number {
  return region.health === 'isolated' ? -1 : URGENCY.indexOf(regionState(region));
}

/** Formats as `eu-west (default)`. The region `default` needs no label. */
export function labelDefaultRegion(region: string): string {
  return region === 'default' ? region : `${region} (default)`;
}

export interface RegionSince {
  readonly region: string;
  /** ISO 8601. */
  readonly since: string;
}

export function isolatedRegions(regions: readonly Region[]): RegionSince[] {
  return regions.flatMap(({ region, health, since }) =>
    health === 'isolated' && since !== null ? [{ region, since }] : [],
  );
}

/** Regions with monitors and without a connected agent. */
export function disconnectedRegions(regions: readonly Region[]): RegionSince[] {
  return regions.flatMap(({ region, health, since, monitors }) =>
    health === 'disconnected' && since !== null && monitors > 0 ? [{ region, since }] : [],
  );
}

/** Regions with monitors that record no results, except disconnected regions, which have their own banner. */
export function lateRegions(regions: readonly Region[]): RegionSince[] {
  return regions.flatMap(({ region, lateSince, monitors, health }) =>
    lateSince !== null && monitors > 0 && health !== 'disconnected' ? [{ region, since: lateSince }] : [],
  );
}

/** Codes of regions without a checker or agent, except regions whose queue does not respond. */
export function unservedRegions(regions: readonly Region[]): string[] {
  return regions.flatMap(({ region, served }) => (served === false ? [region] : []));
}

const NONE: readonly string[] = [];

/** `unservedRegions`, or none while they load. The array is stable. */
export function useUnservedRegions(): readonly string[] {
  const refetchInterval = refreshEvery(REFRESH_ELSEWHERE_MS);
  return useQuery({ ...regionsQuery, refetchInterval, select: unservedRegions }).data ?? NONE;
}

/** Codes of regions that record no results, or are about to stop. */
function silentRegions(regions: readonly Region[]): string[] {
  return regions.flatMap(({ region, served, lateSince }) =>
    served === false || lateSince !== null ? [region] : [],
  );
}

/** `silentRegions`, or none while they load. The array is stable. */
export function useSilentRegions(): readonly string[] {
  const refetchInterval = refreshEvery(REFRESH_ELSEWHERE_MS);
  return useQuery({ ...regionsQuery, refetchInterval, select: silentRegions }).data ?? NONE;
}

/**
 * True if the status of a monitor may be outdated, because none of its regions records results and the next result is overdue.
 * @param codes regions of the monitor
 */
export function isStale(
  { lastCheckedAt, interval }: Pick<MonitorOverview, 'lastCheckedAt' | 'interval'>,
  codes: readonly string[],
  silent: readonly string[],
  now: number,
): boolean {
  if (lastCheckedAt === null || !codes.every((code) => silent.includes(code))) return false;
  return now > Date.parse(lastCheckedAt) + interval * 1_000;
}

/** Formats as `Not checked from eu-west-1: no checker or agent is running there`. @param codes at least one */
export function describeUnserved(codes: readonly string[]): string {
  return `Not checked from ${joinWords(codes)}: no checker or agent is running there`;
}

/** Formats as `Failing in 2 of 3 regions: eu and us.` @param first region in which the incident began */
export function describeFailing(failing: readonly string[], total: number, first: string): string {
  if (failing.length === 0) return `First failed in region ${first}.`;
  if (total === 1) return `Failing in its only region, ${failing.join()}.`;
  return `Failing in ${failing.length} of ${total} regions: ${joinWords(failing)}.`;
}
