import { queryOptions } from '@tanstack/react-query';
import type { Region } from '@tocsin/contracts/regions/region';
import { request } from '../api/request.ts';

/** A region falls behind from here on: checks later than this are skipped (design §4 "Slot"). */
const LATE_SECONDS = 15;

export type RegionState = 'serving' | 'idle' | 'late' | 'unserved' | 'unknown';

/** How a region is doing; `unserved` is the one that needs somebody. */
export function regionState({ served, lagSeconds, monitors }: Region): RegionState {
  if (served === null) return 'unknown';
  if (!served) return monitors > 0 ? 'unserved' : 'idle';
  return (lagSeconds ?? 0) >= LATE_SECONDS ? 'late' : 'serving';
}

const URGENCY: readonly RegionState[] = ['unserved', 'unknown', 'late', 'serving', 'idle'];

/** Those that need somebody first, then by code. */
export function byUrgency(regions: readonly Region[]): Region[] {
  return regions.toSorted(
    (a, b) =>
      URGENCY.indexOf(regionState(a)) - URGENCY.indexOf(regionState(b)) || a.region.localeCompare(b.region),
  );
}

/** The api's numbers are at most as old as this. */
const REFRESH_EVERY_MS = 5_000;

export const regionsQuery = queryOptions({
  queryKey: ['regions'],
  queryFn: async ({ signal }) =>
    (await request<{ regions: Region[] }>('GET', '/api/dashboard/regions', { signal })).regions,
  refetchInterval: REFRESH_EVERY_MS,
});

/** As `eu-west (default)`; `default` says it by itself. */
export function labelDefaultRegion(region: string): string {
  return region === 'default' ? region : `${region} (default)`;
}
