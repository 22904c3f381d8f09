import { randomBytes, randomUUID } from 'node:crypto';
import { stat } from 'node:fs/promises';
import { createMonitorSchema } from '@tocsin/contracts/monitors/monitor';
import { SecretBox } from '@tocsin/core/secrets/secret-box';
import { openDatabase } from '@tocsin/db/database/open';
import { createMonitor } from '@tocsin/db/monitors/create-monitor';
import { until } from '@tocsin/embedded/testing/until';
import { hungFile } from '../lab/hung-file.ts';
import type { Stores } from '../lab/stores.ts';
import type { NeighbourFacts } from '../oracle/record.ts';
import type { NeighbourPlan } from '../plan/plan-neighbour.ts';
import { REGIONS } from '../plan/slots.ts';
import type { NeighbourTargets } from '../world/neighbour-targets.ts';
import { readMetrics } from './readiness.ts';
import type { Scene } from './scene.ts';

/** A monitor of the neighbour as it was made. */
export interface NeighbourMonitor {
  readonly id: string;
  readonly plan: NeighbourPlan;
}

const UNREADABLE = /^tocsin_checks_missed_total\{[^}]*reason="unreadable"[^}]*\} (\d+)$/gm;
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

/**
 * How many planned checks of monitors that cannot be read the present checkers have not run, by region; to be asked while they still run.
 */
export async function countUnreadable({ slots }: Scene): Promise<Map<string, number>> {
  const counts = new Map<string, number>();
  for (const slot of slots) {
    const { region } = slot.plan;
    if (region === null) continue;
    const samples = (await readMetrics(slot)).matchAll(UNREADABLE);
    const count = [...samples].reduce((total, [, value]) => total + Number(value), 0);
    counts.set(region, (counts.get(region) ?? 0) + count);
  }
  return counts;
}

/** @returns how many lookups of names that never resolve each replica began */
export async function countHungLookups({ slots, dnsDownFile }: Scene): Promise<Map<string, number>> {
  const counts = slots.map(async ({ name, plan }): Promise<[string, number]> => {
    const size = await stat(hungFile(dnsDownFile, plan.address)).then(
      (file) => file.size,
      () => 0,
    );
    return [name, size];
  });
  return new Map(await Promise.all(counts));
}
