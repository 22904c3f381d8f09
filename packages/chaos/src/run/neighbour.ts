import { randomBytes, randomUUID } from 'node:crypto';
import { createMonitorSchema } from '@tocsin/contracts/monitor';
import { SecretBox } from '@tocsin/core/secrets/secret-box';
import { openDatabase } from '@tocsin/db/database/open';
import { createMonitor } from '@tocsin/db/monitors/create-monitor';
import { until } from '@tocsin/embedded/testing/until';
import type { Stores } from '../lab/stores.ts';
import type { NeighbourFacts } from '../oracle/record.ts';
import type { NeighbourPlan } from '../plan/plan-neighbour.ts';
import { REGIONS } from '../plan/slots.ts';
import type { NeighbourTargets } from '../world/neighbour-targets.ts';

/** A monitor of the neighbour as it was made. */
export interface NeighbourMonitor {
  readonly id: string;
  readonly plan: NeighbourPlan;
}

/** Nothing is broken yet: a slow machine may take its time. */
const VISITED_WITHIN_MS = 600_000;

/**
 * Makes a second account with its monitors, in the database: the campaign's client belongs to the first account. Waits until each target
 * has been visited.
 */
export async function createNeighbour(
  stores: Stores,
  targets: NeighbourTargets,
  plans: readonly NeighbourPlan[],
): Promise<NeighbourMonitor[]> {
  const accountId = randomUUID();
  await stores.query(`insert into accounts (id, name) values ($1, 'Neighbour')`, [accountId]);
  const database = openDatabase({
    url: stores.databaseUrl,
    poolSize: 1,
    applicationName: 'chaos',
    onIdleError: () => undefined,
  });
  // A key that no service has.
  const context = { db: database.db, secrets: new SecretBox([randomBytes(32)]) };
  const monitors: NeighbourMonitor[] = [];
  try {
    for (const plan of plans) {
      const input = createMonitorSchema.parse({
        name: plan.key,
        externalId: plan.key,
        url: targets.urlOf(plan.key),
        interval: plan.intervalSeconds,
        timeout: plan.timeoutSeconds,
        regions: REGIONS,
        ...(plan.kind === 'unreadable' && { headers: { 'X-Token': 'sealed' } }),
      });
      const { monitor } = await createMonitor(context, accountId, input, REGIONS[0]);
      monitors.push({ id: monitor.id, plan });
    }
  } finally {
    await database.close();
  }
  const checked = plans.filter(({ kind }) => kind !== 'unreadable');
  await until(
    'every target of the neighbour to be visited',
    () => checked.every((plan) => targets.visits.some(({ key }) => key === plan.key)),
    VISITED_WITHIN_MS,
  );
  return monitors;
}

/** What became of the neighbour's monitors. */
export async function readNeighbour(
  stores: Stores,
  targets: NeighbourTargets,
  monitors: readonly NeighbourMonitor[],
): Promise<NeighbourFacts[]> {
  const ids = monitors.map(({ id }) => id);
  const events = await stores.query<{ monitorId: string; status: string; timestamp: number }>(
    `select monitor_id as "monitorId", status, (extract(epoch from timestamp) * 1000)::float8 as timestamp
     from events where monitor_id = any($1::uuid[]) order by timestamp`,
    [ids],
  );
  const deliveries = await stores.query<{ monitorId: string }>(
    `select monitor_id as "monitorId" from deliveries where monitor_id = any($1::uuid[])`,
    [ids],
  );
  return monitors.map(({ id, plan }) => {
    const own = events.filter(({ monitorId }) => monitorId === id);
    return {
      id,
      plan,
      visits: targets.visits.filter(({ key }) => key === plan.key),
      eventStamps: own.map(({ timestamp }) => timestamp),
      upEvents: own.filter(({ status }) => status === 'UP').length,
      deliveries: deliveries.filter(({ monitorId }) => monitorId === id).length,
    };
  });
}
