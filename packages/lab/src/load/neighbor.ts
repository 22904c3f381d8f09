import { randomBytes, randomUUID } from 'node:crypto';
import { stat } from 'node:fs/promises';
import { createMonitorSchema } from '@tocsin/contracts/monitors/monitor';
import { SecretBox } from '@tocsin/core/secrets/secret-box';
import { systemActor } from '@tocsin/db/audit-log/actor';
import { createMonitor } from '@tocsin/db/monitors/create-monitors';
import { until } from '@tocsin/embedded/testing/until';
import { REGIONS } from '../faults/replica-plans.ts';
import type { Scene } from '../faults/scene.ts';
import type { FaultRecord, NeighborFacts } from '../oracle/record.ts';
import { TARGETS_NAME } from '../world/targets.ts';
import type { NeighborPlan } from './world-plan.ts';

type NeighborMonitor = Pick<NeighborFacts, 'id' | 'plan'>;

const UNREADABLE = /^tocsin_checks_missed_total\{[^}]*reason="unreadable"[^}]*\} (\d+)$/gm;
/** Allowance for a slow machine. */
const VISITED_WITHIN_MS = 600_000;

/**
 * Creates a second account with its monitors in the database, because the API client belongs to the first account. Waits until each
 * target has been visited.
 */
export async function createNeighbor(
  { stores, system, neighborTargets }: Scene,
  plans: readonly NeighborPlan[],
): Promise<NeighborMonitor[]> {
  const accountId = randomUUID();
  await stores.query(`insert into accounts (id, name) values ($1, 'Neighbor')`, [accountId]);
  // No service has this key.
  const context = { db: system.database.db, secrets: new SecretBox([randomBytes(32)]) };
  const monitors: NeighborMonitor[] = [];
  for (const plan of plans) {
    const input = createMonitorSchema.parse({
      name: plan.key,
      externalId: plan.key,
      url: neighborTargets.url(plan.key, TARGETS_NAME),
      interval: plan.intervalSeconds,
      timeout: plan.timeoutSeconds,
      regions: REGIONS,
      ...(plan.kind === 'unreadable' && { headers: { 'X-Token': 'sealed' } }),
    });
    const { monitor } = await createMonitor(context, systemActor(accountId), input, REGIONS[0]);
    monitors.push({ id: monitor.id, plan });
  }
  const areVisited = (): boolean => {
    const visited = new Set(neighborTargets.visits.map(({ key }) => key));
    return plans.every(({ key, kind }) => kind === 'unreadable' || visited.has(key));
  };
  await until('every target of the neighbor to be visited', areVisited, VISITED_WITHIN_MS);
  return monitors;
}

export async function readNeighbor(
  { stores, neighborTargets }: Scene,
  monitors: readonly NeighborMonitor[],
): Promise<NeighborFacts[]> {
  const rows = await stores.query<Omit<NeighborFacts, 'plan' | 'visits'>>(
    `select m.id, coalesce(array_agg((extract(epoch from e.timestamp) * 1000)::float8 order by e.timestamp)
         filter (where e.id is not null), '{}') as "eventTimestamps",
       count(*) filter (where e.status = 'UP')::int as "upEvents",
       (select count(*)::int from deliveries d where d.monitor_id = m.id) as deliveries
     from unnest($1::uuid[]) as m (id) left join events e on e.monitor_id = m.id group by m.id`,
    [monitors.map(({ id }) => id)],
  );
  return monitors.flatMap(({ id, plan }) => {
    const visits = neighborTargets.visits.filter(({ key }) => key === plan.key);
    return rows.filter((row) => row.id === id).map((row) => Object.assign(row, { plan, visits }));
  });
}

/** Reads evidence that the services handled the neighbor's monitors. The checkers must be running. */
export async function readNeighborMet(scene: Scene): Promise<FaultRecord['neighborEvidence']> {
  const { replicas, stores, dnsDownFile } = scene;
  const unreadable = new Map<string, number>();
  const hungLookups = new Map<string, number>();
  for (const replica of replicas) {
    const { region, address } = replica.plan;
    // The file has one byte for each lookup (`fake-resolver.ts`).
    const lookups = await stat(`${dnsDownFile}.hung-${address}`).catch(() => null);
    hungLookups.set(replica.name, lookups?.size ?? 0);
    if (region === null) continue;
    for (const [, count] of (await replica.metrics()).matchAll(UNREADABLE)) {
      unreadable.set(region, (unreadable.get(region) ?? 0) + Number(count));
    }
  }
  // After a crash of Postgres, a sequence may be a little ahead.
  const [row] = await stores.query<{ count: number }>(
    'select case when is_called then last_value else 0 end::float8 as count from lab.refusals',
  );
  return { refusals: row?.count ?? 0, hungLookups, unreadable };
}
