import type { Region } from '@tocsin/contracts/regions/region';
import { countRegionMonitors } from '@tocsin/db/monitor-regions/read-regions';
import type { RegionLoad } from '@tocsin/queue/queue-load';
import type { RequestHandler } from 'express';
import type { ApiContext } from '../context.ts';
import { callerOf } from '../http/request-state.ts';

/** The regions of the account's monitors, and those that the settings name, by code. */
export function listRegionsHandler({ db, regionLoads, settings }: ApiContext): RequestHandler {
  return async function answerList(_req, res) {
    const monitors = await countRegionMonitors(db, callerOf(res).accountId);
    const codes = new Set([settings.defaultRegion, ...(settings.regions ?? []), ...monitors.keys()]);
    const sorted = [...codes].toSorted();
    const loads = await regionLoads.read(sorted);
    const regions = sorted.map((code) => toRegion(code, monitors.get(code) ?? 0, loads.get(code) ?? null));
    res.json({ regions });
  };
}

function toRegion(region: string, monitors: number, load: RegionLoad | null): Region {
  return {
    region,
    workers: load?.workers ?? null,
    waiting: load?.waiting ?? null,
    lagSeconds: load === null ? null : Math.floor(load.lagMs / 1_000),
    monitors,
    served: load === null ? null : load.workers > 0,
  };
}
