import { AppError } from '@tocsin/contracts/errors';
import type { Region } from '@tocsin/contracts/regions/region';
import { regionRoutes } from '@tocsin/contracts/regions/routes';
import { listAgents } from '@tocsin/db/agents/agent-connections';
import {
  type AgentRegionRow,
  createAgentRegion,
  deleteAgentRegion,
  listAgentRegions,
} from '@tocsin/db/agents/agent-regions';
import type { Actor } from '@tocsin/db/audit-log/actor';
import { OPERATORS_ACCOUNT } from '@tocsin/db/audit-log/record-audit';
import { countRegionMonitors } from '@tocsin/db/monitor-regions/read-regions';
import { readRegionNetworks, type RegionNetwork, setCanaries } from '@tocsin/db/regions/canaries';
import type { ApiContext } from '../context.ts';
import { unavailable } from '../http/errors.ts';
import { type ActorRequest, implement } from '../http/implement.ts';

export const regionApi = implement(regionRoutes, (context) => {
  const list = async ({ caller }: { readonly caller: Actor }) => ({
    regions: await readRegions(context, caller.accountId),
  });
  const create = async ({ caller, body, location }: ActorRequest<typeof regionRoutes.createRegion>) => {
    await createAgentRegion(context, caller, body, await isReserved(context, body.code));
    const region = await readRegion(context, caller.accountId, body.code);
    return { body: { region }, headers: { Location: location(body.code) } };
  };
  const remove = ({ caller, path }: ActorRequest<typeof regionRoutes.deleteRegion>) =>
    deleteAgentRegion(context.db, caller, path.code);
  return {
    listRegions: list,
    listSharedRegions: list,
    createRegion: create,
    createSharedRegion: create,
    updateRegion: async ({ caller, path: { code }, body }) => {
      await readRegion(context, caller.accountId, code);
      await setCanaries(context.db, caller, code, body.canaryMonitorIds);
      return { region: await readRegion(context, caller.accountId, code) };
    },
    deleteRegion: remove,
    deleteSharedRegion: remove,
  };
});

/** Reports whether checkers serve a region, or the settings reserve it for them. @throws AppError unavailable if the queue does not respond */
async function isReserved({ regionLoads, settings }: ApiContext, code: string): Promise<boolean> {
  if (code === settings.defaultRegion || settings.regions?.includes(code) === true) return true;
  const load = (await regionLoads.read([code])).get(code);
  if (load === null)
    throw unavailable(
      'The queue does not respond, so it is unknown whether checkers serve this region. Try again later.',
    );
  return load !== undefined && load.workers > 0;
}

/** @throws AppError not_found */
async function readRegion(context: ApiContext, accountId: string, code: string): Promise<Region> {
  const found = (await readRegions(context, accountId)).find(({ region }) => region === code);
  if (found) return found;
  throw new AppError('not_found', `No monitor of this account is checked from a region "${code}".`);
}

/** Lists the regions of the account's monitors, of the settings, and of agents, sorted by code. Operators get only shared regions. */
async function readRegions(
  { db, regionLoads, lateRegions, settings }: ApiContext,
  accountId: string,
): Promise<Region[]> {
  const isOperator = accountId === OPERATORS_ACCOUNT;
  const monitors = await countRegionMonitors(db, isOperator ? null : accountId);
  const networks = await readRegionNetworks(db, accountId);
  const agentRegions = new Map((await listAgentRegions(db, accountId)).map((row) => [row.code, row]));
  const others = isOperator ? [] : [settings.defaultRegion, ...(settings.regions ?? []), ...monitors.keys()];
  const sorted = [...new Set([...others, ...agentRegions.keys()])].toSorted();
  const [loads, late, connected] = await Promise.all([
    regionLoads.read(sorted),
    lateRegions(),
    listAgents(db, [...agentRegions.keys()]),
  ]);
  return sorted.map((region) => {
    const network = networks.get(region) ?? UNKNOWN;
    const load = loads.get(region) ?? null;
    const lateChecks = late?.get(region) ?? null;
    const lagMs =
      load === null && lateChecks === null ? null : Math.max(load?.lagMs ?? 0, lateChecks?.lateMs ?? 0);
    const agentRegion = agentRegions.get(region) ?? null;
    const agents = connected.get(region) ?? [];
    const isDisconnected = agentRegion !== null && agents.length === 0;
    const { health, since } = isDisconnected ? disconnected(agentRegion) : network;
    return {
      region,
      kind: agentRegion === null ? 'checkers' : 'agents',
      name: agentRegion?.name ?? null,
      shared: (agentRegion?.accountId ?? null) === null,
      workers: load?.workers ?? null,
      agents: [...agents],
      waiting: load?.waiting ?? null,
      lagSeconds: lagMs === null ? null : Math.floor(lagMs / 1_000),
      monitors: monitors.get(region) ?? 0,
      served: load === null ? null : load.workers > 0,
      lateSince: lateChecks === null ? null : new Date(lateChecks.since).toISOString(),
      health,
      since,
      canaryMonitorIds: [...network.canaryMonitorIds],
    };
  });
}

const UNKNOWN: RegionNetwork = { health: 'unknown', since: null, canaryMonitorIds: [] };

function disconnected({ lastConnectedAt, createdAt }: AgentRegionRow): Pick<Region, 'health' | 'since'> {
  return { health: 'disconnected', since: (lastConnectedAt ?? createdAt).toISOString() };
}
