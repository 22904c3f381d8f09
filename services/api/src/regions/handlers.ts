import { AppError } from '@tocsin/contracts/errors';
import { type Region, regionRoutes } from '@tocsin/contracts/regions/routes';
import { countRegionMonitors } from '@tocsin/db/monitor-regions/read-regions';
import { readRegionNetworks, type RegionNetwork, setCanaries } from '@tocsin/db/regions/canaries';
import type { RegionLoad } from '@tocsin/queue/queue-load';
import type { ApiContext } from '../context.ts';
import { implement } from '../http/implement.ts';
import type { Caller } from '../http/request-state.ts';

export const regionApi = implement(regionRoutes, (context) => {
  const listRegions = async ({ caller }: { caller: Caller }): Promise<{ regions: Region[] }> => {
    return { regions: await readRegions(context, caller.accountId) };
  };
  return {
    listRegions,
    listRegionsInDashboard: listRegions,
    updateRegion: async ({ caller, path: { code }, body }) => {
      await readRegion(context, caller.accountId, code);
      await setCanaries(context.db, caller, code, body.canaryMonitorIds);
      return { region: await readRegion(context, caller.accountId, code) };
    },
  };
});

/** @throws AppError not_found */
async function readRegion(context: ApiContext, accountId: string, code: string): Promise<Region> {
  const found = (await readRegions(context, accountId)).find(({ region }) => region === code);
  if (found) return found;
  throw new AppError('not_found', `No monitor of this account is checked from a region "${code}".`);
}

/** The regions of the account's monitors and those in the settings, by code. */
async function readRegions({ db, regionLoads, settings }: ApiContext, accountId: string): Promise<Region[]> {
  const monitors = await countRegionMonitors(db, accountId);
  const networks = await readRegionNetworks(db, accountId);
  const codes = new Set([settings.defaultRegion, ...(settings.regions ?? []), ...monitors.keys()]);
  const sorted = [...codes].toSorted();
  const loads = await regionLoads.read(sorted);
  return sorted.map((code) =>
    toRegion(code, monitors.get(code) ?? 0, loads.get(code) ?? null, networks.get(code)),
  );
}

const UNKNOWN: RegionNetwork = { health: 'unknown', since: null, canaryMonitorIds: [] };

function toRegion(
  region: string,
  monitors: number,
  load: RegionLoad | null,
  { health, since, canaryMonitorIds }: RegionNetwork = UNKNOWN,
): Region {
  return {
    region,
    workers: load?.workers ?? null,
    waiting: load?.waiting ?? null,
    lagSeconds: load === null ? null : Math.floor(load.lagMs / 1_000),
    monitors,
    served: load === null ? null : load.workers > 0,
    health,
    since,
    canaryMonitorIds: [...canaryMonitorIds],
  };
}
