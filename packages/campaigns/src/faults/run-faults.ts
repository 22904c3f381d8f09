import type { Teardown } from '@tocsin/embedded/program/teardown';
import { say } from '@tocsin/lab/command';
import { fireAll, LATE_MS } from '@tocsin/lab/faults/fire-all';
import { faultKinds } from '@tocsin/lab/faults/kinds';
import { REPLICAS } from '@tocsin/lab/faults/replica-plans';
import { openScene } from '@tocsin/lab/faults/scene';
import { followEvents, followMetrics } from '@tocsin/lab/load/followers';
import { createNeighbor, readNeighbor, readNeighborMet } from '@tocsin/lab/load/neighbor';
import { createWorld } from '@tocsin/lab/load/requests';
import { deliverTheRest, endCheckers, listUndelivered, settle } from '@tocsin/lab/load/settle';
import { Traffic } from '@tocsin/lab/load/traffic';
import { planNeighbor, planWorld } from '@tocsin/lab/load/world-plan';
import { readDatabase } from '@tocsin/lab/oracle/read-database';
import type { FaultRecord } from '@tocsin/lab/oracle/record';

interface FaultsOptions {
  readonly seed: number;
  readonly minutes: number;
  readonly libfaketime: string;
}

/** No faults are fired at the end of a campaign. */
const QUIET_MS = 35_000;
/** Maintenance windows fit into it. */
const MIN_WINDOW_MS = 50_000;

/** Starts a system, fires the faults, and waits until the system has recovered. The teardown removes the logs. */
export async function runFaults(
  { seed, minutes, libfaketime }: FaultsOptions,
  teardown: Teardown,
): Promise<{ readonly record: FaultRecord; readonly logs: string }> {
  const windowMs = Math.max(MIN_WINDOW_MS, minutes * 60_000 - QUIET_MS);
  const world = planWorld(seed, windowMs + LATE_MS);
  say('Starting a system …');
  const scene = await openScene(world, { teardown, steady: null });
  await createWorld(scene, world);
  const neighbor = await createNeighbor(scene, planNeighbor(seed));
  const startedAt = Date.now();
  const kinds = faultKinds(minutes, libfaketime);
  const { schedule, targets, receivers, registry, api, serviceProblems } = scene;
  schedule.startedAt = startedAt;
  const finishTails = followEvents(scene);
  const finishScrapes = followMetrics(scene);
  say(`Firing ${kinds.length} kinds of faults …`);
  const [faults] = await Promise.all([
    fireAll(scene, { kinds, seed, windowMs }),
    new Traffic(scene, world, seed, windowMs).send(),
  ]);
  schedule.isFinal = true;
  const lastFaultAt = Math.max(...faults.map(({ endedAt }) => endedAt));
  say('Waiting for the system to recover …');
  const settled = await settle(scene);
  const neighborEvidence = await readNeighborMet(scene);
  await endCheckers(scene);
  const left = await listUndelivered(scene);
  await deliverTheRest(scene);
  const record: FaultRecord = {
    campaign: 'faults',
    seed,
    startedAt,
    lastFaultAt,
    ...settled,
    kinds: kinds.map(({ name }) => name),
    faults,
    replicas: REPLICAS,
    monitors: registry.monitors,
    channels: registry.channels,
    windows: registry.windows,
    promised: registry.promised,
    redelivered: registry.redelivered,
    visits: targets.visits,
    receipts: receivers.receipts,
    strays: receivers.strays,
    tails: await finishTails(),
    scrapes: await finishScrapes(),
    ...left,
    serviceProblems,
    apiStatuses: api.statuses,
    neighbor: await readNeighbor(scene, neighbor),
    neighborEvidence,
    database: await readDatabase(scene.stores, { without: neighbor.map(({ id }) => id) }),
  };
  return { record, logs: scene.system.folder };
}
