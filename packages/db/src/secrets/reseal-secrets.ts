import { setTimeout as wait } from 'node:timers/promises';
import type { DbContext } from '../database/context.ts';
import { countSealed } from './count-sealed.ts';
import { resealChannels, resealMonitors, type ResealedBatch } from './reseal-batch.ts';

const ROWS_PER_BATCH = 200;
/** What was locked, or sealed meanwhile, is found by another round. */
const ROUNDS = 5;
const BETWEEN_ROUNDS_MS = 500;

export interface ResealReport {
  /** Secrets that were sealed with the current key by this run. */
  readonly resealed: number;
  /** Every secret there is, at the end. */
  readonly total: number;
  /** By key, what is sealed with another one of ours all the same: somebody holds its row, or goes on using the key. */
  readonly left: ReadonlyMap<string, number>;
  /** By key, what no key of ours opens; it was left as it is. */
  readonly unreadable: ReadonlyMap<string, number>;
  /** Monitors and channels that these belong to. */
  readonly unreadableRows: readonly string[];
}

/**
 * Seals every secret at rest with the first key of `SECRETS_KEY`, batch by batch, beside running services. May be broken off
 * and run again at any time: each batch commits by itself, and what is done is not looked at again.
 * @param pause between two rounds
 */
export async function resealSecrets(
  context: DbContext,
  pause: () => Promise<unknown> = () => wait(BETWEEN_ROUNDS_MS),
): Promise<ResealReport> {
  const { currentKeyId, keyIds } = context.secrets;
  let resealed = 0;
  let unreadableRows: readonly string[] = [];
  for (let round = 1; ; round += 1) {
    const monitors = await resealAll((afterId) => resealMonitors(context, afterId, ROWS_PER_BATCH));
    const channels = await resealAll((afterId) => resealChannels(context, afterId, ROWS_PER_BATCH));
    resealed += monitors.resealed + channels.resealed;
    unreadableRows = [...monitors.unreadable, ...channels.unreadable];
    const sealed = await countSealed(context.db);
    const others = [...sealed].filter(([keyId]) => keyId !== currentKeyId);
    const left = new Map(others.filter(([keyId]) => keyIds.includes(keyId)));
    if (left.size === 0 || round === ROUNDS) {
      return {
        resealed,
        total: [...sealed.values()].reduce((sum, secrets) => sum + secrets, 0),
        left,
        unreadable: new Map(others.filter(([keyId]) => !keyIds.includes(keyId))),
        unreadableRows,
      };
    }
    await pause();
  }
}

async function resealAll(
  resealBatch: (afterId: string | null) => Promise<ResealedBatch>,
): Promise<Pick<ResealedBatch, 'resealed' | 'unreadable'>> {
  let resealed = 0;
  const unreadable: string[] = [];
  let afterId: string | null = null;
  do {
    const batch: ResealedBatch = await resealBatch(afterId);
    resealed += batch.resealed;
    unreadable.push(...batch.unreadable);
    afterId = batch.lastId;
  } while (afterId !== null);
  return { resealed, unreadable };
}
