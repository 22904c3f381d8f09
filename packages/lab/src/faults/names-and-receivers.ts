import { existsSync } from 'node:fs';
import { rm, writeFile } from 'node:fs/promises';
import { setTimeout as wait } from 'node:timers/promises';
import { seenBefore } from '@tocsin/embedded/testing/until';
import { enableChannel } from '../load/requests.ts';
import { MOODY_RECEIVERS } from '../load/world-plan.ts';
import type { Misbehavior } from '../world/receivers.ts';
import { requireEffect, takeTurn, type Fire } from './fault.ts';
import type { Scene } from './scene.ts';

/** A notifier that is killed while it handles a 410 does not disable the channel. */
const DISABLED_WITHIN_MS = 15_000;

/** Makes names unresolvable for a while, and at least until a service looks one up. */
export function failNames(how: 'fail' | 'hang'): Fire {
  return async ({ dnsDownFile }, { lastsMs, deadline }) => {
    const metFile = `${dnsDownFile}.met`;
    // A late lookup during the previous fault may have left the file.
    await rm(metFile, { force: true });
    const firedAt = Date.now();
    await writeFile(dnsDownFile, how);
    await wait(lastsMs);
    const isMet = await seenBefore(deadline, () => existsSync(metFile));
    await rm(dnsDownFile);
    requireEffect(isMet, 'no service looked up a name');
    return { firedAt };
  };
}

/** Makes a receiver misbehave for a while, and at least until it receives a webhook. */
export function misbehave(misbehavior: Misbehavior): Fire {
  return async (scene, { turn, lastsMs, deadline }) => {
    const { receipts, misbehaviors } = scene.receivers;
    const key = takeTurn(MOODY_RECEIVERS, turn);
    const { id } = scene.registry.channel(key);
    // A late 410 may have disabled the channel again.
    if (await isDisabled(scene, id)) await enableChannel(scene, id);
    const before = receipts.length;
    misbehaviors.set(key, misbehavior);
    const [firedAt] = await Promise.all([
      seenBefore(deadline, () => receipts.slice(before).find((one) => one.key === key)?.at),
      wait(lastsMs),
    ]);
    misbehaviors.delete(key);
    if (misbehavior === '410') {
      await seenBefore(Date.now() + DISABLED_WITHIN_MS, () => isDisabled(scene, id));
      // After a 410, the receiver gets nothing until a person enables its channel.
      await enableChannel(scene, id);
    }
    requireEffect(firedAt, 'no webhook arrived');
    return { firedAt, victim: key };
  };
}

async function isDisabled({ api }: Scene, channelId: string): Promise<boolean> {
  const { body } = await api.request('GET', `/api/dashboard/channels/${channelId}`);
  return (body as { channel: { disabledReason: string | null } }).channel.disabledReason !== null;
}
