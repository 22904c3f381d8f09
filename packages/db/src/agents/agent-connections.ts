import { LIMITS } from '@tocsin/contracts/limits';
import type { Agent } from '@tocsin/contracts/regions/region';
import { sql } from 'drizzle-orm';
import { z } from 'zod';
import type { Database, Queryable } from '../database/open.ts';
import { arrayOf, epochMs, query, queryColumn, tableOf } from '../database/sql.ts';
import { agentConnections, agentRegions, agentTokens } from './table.ts';

/** An agent that is connected to a gateway. */
export interface AgentConnection {
  /** UUID of the connection. */
  readonly id: string;
  readonly tokenId: string;
  readonly region: string;
  /** Host name of the agent's machine. */
  readonly name: string;
  readonly version: string;
  readonly connectedSince: Date;
  /** Probes that the agent runs now. */
  readonly inFlight: number;
}

/**
 * Replaces the connections of a gateway, at most 10,000, and deletes those of any gateway that were not renewed for a minute. Also updates
 * when the tokens were last used and the regions last connected.
 * @returns the ids of the connections whose token exists and has not expired
 */
export async function renewAgentConnections(
  db: Database,
  gatewayId: string,
  connections: readonly AgentConnection[],
): Promise<ReadonlySet<string>> {
  const given = tableOf('g', connections, {
    id: ['uuid', ({ id }) => id],
    token_id: ['uuid', ({ tokenId }) => tokenId],
    region: ['text', ({ region }) => region],
    name: ['text', ({ name }) => name],
    version: ['text', ({ version }) => version],
    connected_since: ['timestamptz', ({ connectedSince }) => connectedSince],
    in_flight: ['int', ({ inFlight }) => inFlight],
  });
  // Gateways write the same rows concurrently. They skip locked rows, because waiting could deadlock.
  const ids = await queryColumn(db)`
    with valid as materialized (
      select g.* from ${given} join ${agentTokens} t on t.id = g.token_id and t.region = g.region
      where t.expires_at is null or t.expires_at > now()),
    used as (
      update ${agentTokens} set last_used_at = now() where id = any(array(
        select id from ${agentTokens} where id in (select token_id from valid) for no key update skip locked))),
    connected as (
      update ${agentRegions} set last_connected_at = now() where code = any(array(
        select code from ${agentRegions} where code in (select region from valid) for no key update skip locked))),
    gone as (
      delete from ${agentConnections} where id = any(array(
        select id from ${agentConnections}
        where (gateway_id = ${gatewayId} or renewed_at < now() - interval '60 seconds')
          and id not in (select id from valid)
        for update skip locked)))
    insert into ${agentConnections} (id, gateway_id, token_id, region, name, version, connected_since, in_flight)
    select id, ${gatewayId}, token_id, region, name, version, connected_since, in_flight from valid
    on conflict (id) do update set in_flight = excluded.in_flight, renewed_at = excluded.renewed_at
    returning id`;
  return new Set(ids);
}

const connectedAgent = z.object({
  region: z.string(),
  id: z.string(),
  name: z.string(),
  version: z.string(),
  /** Epoch milliseconds. */
  since: z.number(),
  inFlight: z.number(),
});

/** Lists the agents of regions, longest connected first. Connections that no gateway has renewed for ten seconds do not count. */
export async function listAgents(
  db: Queryable,
  regions: readonly string[],
): Promise<ReadonlyMap<string, readonly Agent[]>> {
  if (regions.length === 0) return new Map();
  const rows = await query(db, connectedAgent)`
    select r.region, a.* from unnest(${arrayOf('text', regions)}) as r (region) cross join lateral (
      select c.id, c.name, c.version, ${epochMs(sql`c.connected_since`)} as since, c.in_flight
      from ${agentConnections} c where c.region = r.region and c.renewed_at > now() - interval '10 seconds'
      order by c.connected_since, c.id limit ${LIMITS.listedAgents}) a`;
  const agents = new Map<string, Agent[]>(regions.map((region) => [region, []]));
  for (const { region, since, ...agent } of rows)
    agents.get(region)?.push({ ...agent, connectedSince: new Date(since).toISOString() });
  return agents;
}
