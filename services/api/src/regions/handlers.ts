import { regionRoutes } from '@tocsin/contracts/regions/routes';
import type { Region } from '@tocsin/contracts/regions/routes';
import { countRegionMonitors } from '@tocsin/db/monitor-regions/read-regions';
import type { RegionLoad } from '@tocsin/queue/queue-load';
import { implement } from '../http/implement.ts';
import type { Caller } from '../http/request-state.ts';

export const regionApi = implement(regionRoutes, (context) => {
  const { db, regionLoads, settings } = context;
  const listRegions = async ({ caller }: { caller: Caller }): Promise<{ regions: Region[] }> => {
    const monitors = await countRegionMonitors(db, caller.accountId);
    const codes = new Set([settings.defaultRegion, ...(settings.regions ?? []), ...monitors.keys()]);
    const sorted = [...codes].toSorted();
    const loads = await regionLoads.read(sorted);
    return {
      regions: sorted.map((code) => toRegion(code, monitors.get(code) ?? 0, loads.get(code) ?? null)),
    };
  };
  return { listRegions, listRegionsInDashboard: listRegions };
});

function toRegion(region: string, monitors: number, load: RegionLoad | null): Region {
  return {
    region,
    workers: load?.workers ?? null,
    waiting: load?.waiting ?? null,
    lagSeconds: load === null ? null : Math.floor(load.lagMs / 1_000),
    monitors,
    health: 'unknown',
    since: null,
    canaryMonitorIds: [],
    served: load === null ? null : load.workers > 0,
  };
}
