import { seenBefore, until } from '@tocsin/embedded/testing/until';
import { replicasOf, type Scene } from '../faults/scene.ts';
import { isQuiet, readBacklog, readUndelivered } from '../oracle/read-database.ts';
import type { FaultRecord } from '../oracle/record.ts';
import type { Queries } from '../stores.ts';
import { enableChannel } from './requests.ts';
import type { WorldScene } from './world-scene.ts';
import { listMonitors } from './writes.ts';

/** Slightly longer than a monitor may be unchecked, so that the longest span is known. */
const WATCHED_MS = 25_000;
const READY_WITHIN_MS = 60_000;
const STATUSES_WITHIN_MS = 75_000;
const DELIVERED_WITHIN_MS = 90_000;
/** Longer than the first retries of a webhook take. */
const SETTLED_WITHIN_MS = 180_000;
const PAGE = 500;
const UNDELIVERED = ['pending', 'held', 'failed'] as const;

/**
 * Waits, within a limit, until each monitor shows the final state of its target. The oracle evaluates the result.
 * @param watchedUntil waits at least until this time, in epoch milliseconds
 * @returns the status of each monitor
 */
export async function untilFinal(scene: WorldScene, watchedUntil = 0): Promise<Map<string, string>> {
  let shown = new Map<string, string>();
  await seenBefore(Date.now() + STATUSES_WITHIN_MS, async () => {
    shown = new Map((await listMonitors(scene)).map(({ id, status }) => [id, status]));
    const areFinal = scene.registry.monitors.every(
      ({ id, plan, deletedAt }) => deletedAt !== null || shown.get(id) === plan.finalState.toUpperCase(),
    );
    return areFinal && Date.now() >= watchedUntil;
  });
  return shown;
}

/** Waits until no webhook is due. @throws Error after 3 minutes, with the remaining work */
export async function untilDelivered(stores: Queries): Promise<void> {
  let left = {};
  const isSettled = async (): Promise<boolean> => {
    const pending = await stores.query(`select from deliveries where state = 'pending'`);
    left = { ...(await readBacklog(stores)), pending: pending.length };
    return Object.values(left).every((count) => count === 0);
  };
  await until('every webhook to be delivered', isSettled, SETTLED_WITHIN_MS).catch((error: unknown) => {
    throw new Error(`Work is left: ${JSON.stringify(left)}`, { cause: error });
  });
}

/** Waits after the last fault until all services work and each monitor shows the state of its target. */
export async function settle(scene: Scene): Promise<Pick<FaultRecord, 'shown' | 'endedAt'>> {
  const watchedUntil = Date.now() + WATCHED_MS;
  await Promise.all([untilHealthy(scene), untilOneLeads(scene)]);
  const shown = await untilFinal(scene, watchedUntil);
  return { shown, endedAt: Date.now() };
}

async function untilHealthy({ replicas, serviceProblems }: Scene): Promise<void> {
  const deadline = Date.now() + READY_WITHIN_MS;
  await Promise.all(
    replicas.map(async (replica) => {
      if ((await seenBefore(deadline, () => replica.isHealthy())) !== null) return;
      serviceProblems.push(`${replica.name} is not ready ${READY_WITHIN_MS / 1_000} s after the last fault`);
    }),
  );
}

/** An api that was cut off from Postgres is replaced as the leader, and stops leading. */
async function untilOneLeads(scene: Scene): Promise<void> {
  const apis = replicasOf(scene, 'api');
  let leaders = 0;
  const isOne = await seenBefore(Date.now() + READY_WITHIN_MS, async () => {
    const metrics = await Promise.all(apis.map((api) => api.metrics()));
    leaders = metrics.filter((text) => /^tocsin_leader 1$/m.test(text)).length;
    return leaders === 1;
  });
  if (isOne !== null) return;
  scene.serviceProblems.push(
    `${leaders} of ${apis.length} apis lead ${READY_WITHIN_MS / 1_000} s after the last fault`,
  );
}

/** Shuts down the checkers, so that nothing more is recorded. */
export async function endCheckers(scene: Scene): Promise<void> {
  await Promise.all(
    replicasOf(scene, 'checker').map(async (replica) => {
      const code = await replica.end('SIGTERM');
      if (code !== 0) scene.serviceProblems.push(`${replica.name} ended with ${code} at the end`);
    }),
  );
}

/** Lists what the services left undelivered, in Postgres and in the API, and what is overdue. */
export async function listUndelivered(
  scene: Scene,
): Promise<Pick<FaultRecord, 'undelivered' | 'backlogBeforeRedelivery'>> {
  await untilQuiet(scene);
  const backlogBeforeRedelivery = await readBacklog(scene.stores);
  const shown: string[] = [];
  for (const { id } of scene.registry.channels) {
    for (const state of UNDELIVERED) shown.push(...(await listDeliveries(scene, id, state)));
  }
  return { undelivered: { stored: await readUndelivered(scene.stores), shown }, backlogBeforeRedelivery };
}

async function listDeliveries({ api }: Scene, channelId: string, state: string): Promise<string[]> {
  const ids: string[] = [];
  for (;;) {
    const last = ids.at(-1);
    const before = last === undefined ? '' : `&before=${last}`;
    const path = `/api/dashboard/channels/${channelId}/deliveries?state=${state}&limit=${PAGE}${before}`;
    const { body } = await api.request('GET', path);
    const page = (body as { deliveries: { id: string }[] }).deliveries.map(({ id }) => id);
    ids.push(...page);
    if (page.length < PAGE) return ids;
  }
}

/** Redelivers everything that is undelivered, and waits until the receivers that respond with 200 have it. */
export async function deliverTheRest(scene: Scene): Promise<void> {
  const healthy = scene.registry.channels.filter(({ plan }) => plan.kind !== 'broken');
  for (const { id } of healthy) await enableChannel(scene, id);
  const query = `select from deliveries where state <> 'delivered' and channel_id = any($1::uuid[]) limit 1`;
  const ids = healthy.map(({ id }) => id);
  await seenBefore(Date.now() + DELIVERED_WITHIN_MS, async () => {
    return (await scene.stores.query(query, [ids])).length === 0;
  });
  await untilQuiet(scene);
}

async function untilQuiet({ stores }: Scene): Promise<void> {
  await seenBefore(Date.now() + DELIVERED_WITHIN_MS, () => isQuiet(stores));
}
