import { AppError } from '@tocsin/contracts/errors';
import { type Region, regionRoutes } from '@tocsin/contracts/regions/routes';
import { countRegionMonitors } from '@tocsin/db/monitor-regions/read-regions';
import { readRegionNetworks, type RegionNetwork, setCanaries } from '@tocsin/db/regions/canaries';
import type { ApiContext } from '../context.ts';
import { implement } from '../http/implement.ts';

export const regionApi = implement(regionRoutes, (context) => ({
  listRegions: async ({ caller }) => ({ regions: await readRegions(context, caller.accountId) }),
  updateRegion: async ({ caller, path: { code }, body }) => {
    await readRegion(context, caller.accountId, code);
    await setCanaries(context.db, caller, code, body.canaryMonitorIds);
    return { region: await readRegion(context, caller.accountId, code) };
  },
}));

/** @throws AppError not_found */
async function readRegion(context: ApiContext, accountId: string, code: string): Promise<Region> {
  const found = (await readRegions(context, accountId)).find(({ region }) => region === code);
  if (found) return found;
  throw new AppError('not_found', `No monitor of this account is checked from a region "${code}".`);
}

/** Regions of the account's monitors and from the settings, by code. */
async function readRegions(
  { db, regionLoads, lateRegions, settings }: ApiContext,
  accountId: string,
): Promise<Region[]> {
  const monitors = await countRegionMonitors(db, accountId);
  const networks = await readRegionNetworks(db, accountId);
  const codes = new Set([settings.defaultRegion, ...(settings.regions ?? []), ...monitors.keys()]);
  const sorted = [...codes].toSorted();
  const [loads, late] = await Promise.all([regionLoads.read(sorted), lateRegions()]);
  return sorted.map((region) => {
    const { health, since, canaryMonitorIds } = networks.get(region) ?? UNKNOWN;
    const load = loads.get(region) ?? null;
    const lateChecks = late?.get(region) ?? null;
    const lagMs =
      load === null && lateChecks === null ? null : Math.max(load?.lagMs ?? 0, lateChecks?.lateMs ?? 0);
    return {
      region,
      workers: load?.workers ?? null,
      waiting: load?.waiting ?? null,
      lagSeconds: lagMs === null ? null : Math.floor(lagMs / 1_000),
      monitors: monitors.get(region) ?? 0,
      served: load === null ? null : load.workers > 0,
      lateSince: lateChecks === null ? null : new Date(lateChecks.since).toISOString(),
      health,
      since,
      canaryMonitorIds: [...canaryMonitorIds],
    };
  });
}

const UNKNOWN: RegionNetwork = { health: 'unknown', since: null, canaryMonitorIds: [] };
