import { LIMITS } from '@tocsin/contracts/limits';
import type { Agent } from '@tocsin/contracts/regions/region';
import { type SQL, sql } from 'drizzle-orm';
import { z } from 'zod';
import type { Queryable } from '../database/open.ts';
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
 * Replaces the connections of a gateway, at most 10,000. Also records when their tokens were used and their regions connected.
 * @returns the ids of the connections whose token exists and has not expired
 */
export async function renewAgentConnections(
  db: Queryable,
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
  // Gateways write the same tokens and regions at the same time. None waits for another, because they might deadlock. They write them only
  // every five seconds, because each update leaves a dead row.
  const ids = await queryColumn(db)`
    with valid as materialized (
      select g.* from ${given} join ${agentTokens} t on t.id = g.token_id and t.region = g.region
      where t.expires_at is null or t.expires_at > now()),
    used as (
      update ${agentTokens} set last_used_at = now() where id = any(array(
        select id from ${agentTokens} where id in (select token_id from valid) and ${isOld(sql`last_used_at`)}
        for no key update skip locked))),
    connected as (
      update ${agentRegions} set last_connected_at = now() where code = any(array(
        select code from ${agentRegions} where code in (select region from valid) and ${isOld(sql`last_connected_at`)}
        for no key update skip locked))),
    gone as (
      delete from ${agentConnections} where gateway_id = ${gatewayId} and id not in (select id from valid))
    insert into ${agentConnections} (id, gateway_id, token_id, region, name, version, connected_since, in_flight)
    select id, ${gatewayId}, token_id, region, name, version, connected_since, in_flight from valid
    on conflict (id) do update set in_flight = excluded.in_flight, renewed_at = excluded.renewed_at
    returning id`;
  return new Set(ids);
}

function isOld(column: SQL): SQL {
  return sql`(${column} is null or ${column} < now() - interval '5 seconds')`;
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
    select region, id, name, version, since, in_flight from (
      select region, id, name, version, ${epochMs(sql`connected_since`)} as since, in_flight,
        row_number() over (partition by region order by connected_since, id) as position
      from ${agentConnections}
      where region = any(${arrayOf('text', regions)}) and renewed_at > now() - interval '10 seconds') c
    where position <= ${LIMITS.listedAgents} order by region, position`;
  const agents = new Map<string, Agent[]>(regions.map((region) => [region, []]));
  for (const { region, since, ...agent } of rows)
    agents.get(region)?.push({ ...agent, connectedSince: new Date(since).toISOString() });
  return agents;
}
