import { setTimeout as wait } from 'node:timers/promises';
import type { Misbehaviour } from '../plan/fault-kinds.ts';
import { redeliver } from '../run/make-calls.ts';
import type { Scene } from '../run/scene.ts';
import type { Firing } from './fire-fault.ts';

const LOOK_EVERY_MS = 50;
/** A notifier that is killed over a 410 tells nobody of it. */
const TOLD_WITHIN_MS = 15_000;

/** Lets a receiver misbehave for a while, and until one webhook has met that. */
export async function fireReceiver(
  scene: Scene,
  key: string,
  misbehaviour: Misbehaviour,
  lastsMs: number,
): Promise<Firing> {
  const { receivers } = scene;
  // A 410 that was under way when its channel was enabled again has disabled it once more.
  if (await isDisabled(scene, key)) await enable(scene, key);
  const before = receivers.receipts.length;
  const begunAt = Date.now();
  const metAt = (): number | null =>
    receivers.receipts.slice(before).find((receipt) => receipt.key === key)?.at ?? null;
  receivers.behave(key, misbehaviour);
  while (Date.now() < begunAt + lastsMs || (metAt() === null && Date.now() < scene.deadline)) {
    await wait(LOOK_EVERY_MS);
  }
  receivers.behave(key, null);
  if (misbehaviour === '410') {
    const until = Date.now() + TOLD_WITHIN_MS;
    while (Date.now() < until && !(await isDisabled(scene, key))) await wait(LOOK_EVERY_MS);
    await enable(scene, key);
  }
  const firedAt = metAt();
  return firedAt === null ? { missed: 'no webhook came' } : { firedAt, endedAt: Date.now() };
}

async function isDisabled({ api, registry }: Scene, key: string): Promise<boolean> {
  const { body } = await api.request('GET', `/api/dashboard/channels/${registry.channel(key).id}`);
  return (body as { channel: { disabledReason: string | null } }).channel.disabledReason !== null;
}

/** A receiver that answered 410 gets nothing more until somebody who sees that says that it is back. */
async function enable(scene: Scene, key: string): Promise<void> {
  const { id } = scene.registry.channel(key);
  await scene.api.request('PATCH', `/api/dashboard/channels/${id}`, { enabled: true });
  await redeliver(scene, id);
}
