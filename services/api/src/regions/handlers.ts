import { AppError } from '@tocsin/contracts/errors';
import { type Region, regionRoutes } from '@tocsin/contracts/regions/routes';
import { countRegionMonitors } from '@tocsin/db/monitor-regions/read-regions';
import { readRegionNetworks, type RegionNetwork, setCanaries } from '@tocsin/db/regions/canaries';
import type { LateRegion } from '@tocsin/db/regions/late-regions';
import type { RegionLoad } from '@tocsin/queue/queue-load';
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
  return sorted.map((code) =>
    toRegion(code, monitors.get(code) ?? 0, networks.get(code) ?? UNKNOWN, {
      load: loads.get(code) ?? null,
      late: late?.get(code) ?? null,
    }),
  );
}

const UNKNOWN: RegionNetwork = { health: 'unknown', since: null, canaryMonitorIds: [] };

interface Progress {
  readonly load: RegionLoad | null;
  readonly late: LateRegion | null;
}

function toRegion(
  region: string,
  monitors: number,
  { health, since, canaryMonitorIds }: RegionNetwork,
  { load, late }: Progress,
): Region {
  const lagMs = load === null && late === null ? null : Math.max(load?.lagMs ?? 0, late?.lateMs ?? 0);
  return {
    region,
    workers: load?.workers ?? null,
    waiting: load?.waiting ?? null,
    lagSeconds: lagMs === null ? null : Math.floor(lagMs / 1_000),
    monitors,
    served: load === null ? null : load.workers > 0,
    lateSince: late === null ? null : new Date(late.since).toISOString(),
    health,
    since,
    canaryMonitorIds: [...canaryMonitorIds],
  };
}
