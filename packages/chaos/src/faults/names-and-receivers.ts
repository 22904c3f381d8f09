import { existsSync } from 'node:fs';
import { rm, writeFile } from 'node:fs/promises';
import { setTimeout as wait } from 'node:timers/promises';
import { seenBefore } from '@tocsin/embedded/testing/until';
import { redeliver } from '../campaign/requests.ts';
import type { Scene } from '../campaign/scene.ts';
import type { Misbehaviour } from '../world/receivers.ts';
import { requireEffect, type Firing, type PlannedFault } from './fault.ts';

/** A notifier that is killed while it handles a 410 does not disable the channel. */
const DISABLED_WITHIN_MS = 15_000;

/** Names do not resolve for a while, and until a service has looked one up. */
export async function failNames(
  { dnsDownFile, deadline }: Scene,
  { lastsMs }: PlannedFault,
  how: 'fail' | 'hang',
): Promise<Firing> {
  const metFile = `${dnsDownFile}.met`;
  // Of a lookup that was under way when the last fault ended.
  await rm(metFile, { force: true });
  const firedAt = Date.now();
  await writeFile(dnsDownFile, how);
  await wait(lastsMs);
  const isMet = await seenBefore(deadline, () => existsSync(metFile));
  await rm(dnsDownFile);
  requireEffect(isMet, 'no service looked up a name');
  return { firedAt, endedAt: Date.now() };
}

/** A receiver misbehaves for a while, and until a webhook has met that. */
export async function misbehave(
  scene: Scene,
  { victim, lastsMs }: PlannedFault,
  misbehaviour: Misbehaviour,
): Promise<Firing> {
  const { receivers } = scene;
  const key = victim ?? '';
  // A 410 that was under way when its channel was enabled disables it once more.
  if (await isDisabled(scene, key)) await enable(scene, key);
  const before = receivers.receipts.length;
  receivers.misbehave(key, misbehaviour);
  const [firedAt] = await Promise.all([
    seenBefore(scene.deadline, () => receivers.receipts.slice(before).find((one) => one.key === key)?.at),
    wait(lastsMs),
  ]);
  receivers.misbehave(key, null);
  if (misbehaviour === '410') {
    await seenBefore(Date.now() + DISABLED_WITHIN_MS, () => isDisabled(scene, key));
    await enable(scene, key);
  }
  requireEffect(firedAt, 'no webhook arrived');
  return { firedAt, endedAt: Date.now() };
}

async function isDisabled({ api, registry }: Scene, key: string): Promise<boolean> {
  const { body } = await api.request('GET', `/api/dashboard/channels/${registry.channel(key).id}`);
  return (body as { channel: { disabledReason: string | null } }).channel.disabledReason !== null;
}

/** A receiver that responded with 410 gets nothing until a person enables its channel. */
async function enable(scene: Scene, key: string): Promise<void> {
  const { id } = scene.registry.channel(key);
  await scene.api.request('PATCH', `/api/dashboard/channels/${id}`, { enabled: true });
  await redeliver(scene, id);
}
