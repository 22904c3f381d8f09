import { setTimeout as wait } from 'node:timers/promises';
import type { Backlog, CampaignRecord } from '../oracle/record.ts';
import { redeliver } from './make-calls.ts';
import { isHealthy, isLeading } from './readiness.ts';
import { isQuiet, readBacklog, readUndelivered } from './read-database.ts';
import type { Scene } from './scene.ts';

/** As long as a monitor may be unchecked, and a little more: only then the longest span can be told. */
const WATCHED_MS = 25_000;
const READY_WITHIN_MS = 60_000;
const STATUSES_WITHIN_MS = 75_000;
const DELIVERED_WITHIN_MS = 90_000;
const LOOK_EVERY_MS = 250;
const PAGE = 500;
const UNDELIVERED = ['pending', 'held', 'failed'] as const;

/** What the API showed when all was over. */
export interface Shown {
  readonly statuses: ReadonlyMap<string, string>;
  readonly endedAt: number;
}

/** Waits, after the last fault, until each monitor shows what its target does: not for ever, since the oracle judges what is there. */
export async function settle(scene: Scene, lastFaultAt: number): Promise<Shown> {
  await Promise.all([untilReady(scene), untilOneLeads(scene)]);
  const until = lastFaultAt + STATUSES_WITHIN_MS;
  let statuses = await readStatuses(scene);
  while (Date.now() < until && (!areFinal(scene, statuses) || Date.now() < lastFaultAt + WATCHED_MS)) {
    await wait(LOOK_EVERY_MS);
    statuses = await readStatuses(scene);
  }
  return { statuses, endedAt: Date.now() };
}

async function untilReady({ slots, troubles }: Scene): Promise<void> {
  const until = Date.now() + READY_WITHIN_MS;
  let unready = [...slots];
  while (unready.length > 0 && Date.now() < until) {
    const answers = await Promise.all(unready.map(isHealthy));
    unready = unready.filter((_, index) => answers[index] !== true);
    if (unready.length > 0) await wait(LOOK_EVERY_MS);
  }
  for (const { name } of unready) {
    troubles.push(`${name} is not ready ${READY_WITHIN_MS / 1_000} s after the last fault`);
  }
}

/** One that was cut off from Postgres is replaced, and no longer believes that it leads. */
async function untilOneLeads({ slots, troubles }: Scene): Promise<void> {
  const until = Date.now() + READY_WITHIN_MS;
  const apis = slots.filter(({ plan }) => plan.service === 'api');
  for (;;) {
    const leading = (await Promise.all(apis.map(isLeading))).filter((leads) => leads).length;
    if (leading === 1) return;
    if (Date.now() > until) {
      troubles.push(
        `${leading} of ${apis.length} api lead ${READY_WITHIN_MS / 1_000} s after the last fault`,
      );
      return;
    }
    await wait(LOOK_EVERY_MS);
  }
}

async function readStatuses({ api }: Scene): Promise<Map<string, string>> {
  const { body } = await api.request('GET', '/api/cli/monitors');
  const { monitors } = body as { monitors: { id: string; status: string }[] };
  return new Map(monitors.map(({ id, status }) => [id, status]));
}

function areFinal({ registry }: Scene, statuses: ReadonlyMap<string, string>): boolean {
  return registry.monitors
    .filter(({ deletedAt }) => deletedAt === null)
    .every(({ id, plan }) => statuses.get(id) === plan.finalState.toUpperCase());
}

/** Ends the checkers as a deployment does: from then on nothing is recorded any more. */
export async function endCheckers({ slots, troubles }: Scene): Promise<void> {
  const checkers = slots.filter(({ plan }) => plan.service === 'checker');
  await Promise.all(
    checkers.map(async (slot) => {
      const code = await slot.end();
      if (code !== 0) troubles.push(`${slot.name} ended with ${code} at the end`);
    }),
  );
}

/** What the services left undelivered, as Postgres has it and as the API shows it, and what of it should not be. */
export async function listUndelivered(
  scene: Scene,
): Promise<Pick<CampaignRecord, 'undelivered' | 'leftAlone'>> {
  await untilQuiet(scene);
  const leftAlone: Backlog = await readBacklog(scene.stores);
  const shown: string[] = [];
  for (const { id } of scene.registry.channels) {
    for (const state of UNDELIVERED) shown.push(...(await listDeliveries(scene, id, state)));
  }
  return { undelivered: { stored: await readUndelivered(scene.stores), shown }, leftAlone };
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

/** Makes due what receivers have not got, and waits until those that take it have it. */
export async function deliverTheRest(scene: Scene): Promise<void> {
  const takers = scene.registry.channels.filter(({ plan }) => plan.kind !== 'broken');
  for (const { id } of takers) {
    await scene.api.request('PATCH', `/api/dashboard/channels/${id}`, { enabled: true });
    await redeliver(scene, id);
  }
  const until = Date.now() + DELIVERED_WITHIN_MS;
  const ids = takers.map(({ id }) => id);
  const isLeft = async (): Promise<boolean> => {
    const rows = await scene.stores.query(
      `select from deliveries where state <> 'delivered' and channel_id = any($1::uuid[]) limit 1`,
      [ids],
    );
    return rows.length > 0;
  };
  while (Date.now() < until && (await isLeft())) await wait(LOOK_EVERY_MS);
  await untilQuiet(scene);
}

async function untilQuiet({ stores }: Scene): Promise<void> {
  const until = Date.now() + DELIVERED_WITHIN_MS;
  while (Date.now() < until && !(await isQuiet(stores))) await wait(LOOK_EVERY_MS);
}
