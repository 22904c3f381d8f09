import { queryOptions } from '@tanstack/react-query';
import type { Region } from '@tocsin/contracts/regions/routes';
import { api } from '../api/request.ts';

/** The grace period of scheduled checks (docs/reference/slots.md). */
const LATE_SECONDS = 15;
/** The api caches these numbers for the same time. */
const REFRESH_EVERY_MS = 5_000;
const URGENCY = ['unserved', 'unknown', 'late', 'serving', 'idle'] as const;

export type RegionState = (typeof URGENCY)[number];

export const regionsQuery = queryOptions({
  queryKey: ['regions'],
  queryFn: async ({ signal }) => (await api('GET /api/dashboard/regions', { signal })).regions,
  refetchInterval: REFRESH_EVERY_MS,
});

/** `unserved`: has monitors but no checkers. */
export function regionState({ served, lagSeconds, monitors }: Region): RegionState {
  if (served === null) return 'unknown';
  if (!served) return monitors > 0 ? 'unserved' : 'idle';
  return (lagSeconds ?? 0) >= LATE_SECONDS ? 'late' : 'serving';
}

/** The regions that need attention first, then by code. */
export function byUrgency(regions: readonly Region[]): Region[] {
  return regions.toSorted((a, b) => urgencyOf(a) - urgencyOf(b) || a.region.localeCompare(b.region));
}

/** The lowest comes first. */
function urgencyOf(region: Region): number {
  return region.health === 'isolated' ? -1 : URGENCY.indexOf(regionState(region));
}

/** Such as `eu-west (default)`; the region `default` needs no label. */
export function labelDefaultRegion(region: string): string {
  return region === 'default' ? region : `${region} (default)`;
}

interface IsolatedRegion {
  readonly region: string;
  /** ISO 8601. */
  readonly since: string;
}

/** The regions without a network, by code. */
export function isolatedRegions(regions: readonly Region[]): IsolatedRegion[] {
  return regions.flatMap(({ region, health, since }) =>
    health === 'isolated' && since !== null ? [{ region, since }] : [],
  );
}
