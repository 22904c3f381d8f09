import { setTimeout as wait } from 'node:timers/promises';
import type { SecretBox } from '@tocsin/core/secrets/secret-box';
import { and, asc, eq, gt, not, or, sql, type SQL } from 'drizzle-orm';
import type { AnyPgColumn } from 'drizzle-orm/pg-core';
import { channels } from '../channels/table.ts';
import type { DbContext } from '../database/open.ts';
import { monitors } from '../monitors/table.ts';
import { countSealed } from './unreadable-secrets.ts';

/** What a batch came to. */
export interface ResealedBatch {
  /** Secrets that are sealed with the current key now. */
  readonly resealed: number;
  /** Rows with a secret that no key opens: that secret stays as it is. */
  readonly unreadable: readonly string[];
  /** The last row looked at; null: there are no more. */
  readonly lastId: string | null;
}

/**
 * Seals the secrets of some monitors with the current key. Rows that somebody holds are passed over, the revision stays: to
 * checks and schedules nothing has changed.
 */
export async function resealMonitors(
  { db, secrets }: DbContext,
  afterId: string | null,
  limit: number,
): Promise<ResealedBatch> {
  const { id, sealedHeaders, sealedBody } = monitors;
  const headerIsOld = sql`exists (
    select from jsonb_each_text(${sealedHeaders}) h where not starts_with(h.value, ${secrets.currentPrefix}))`;
  return db.transaction(async (tx) => {
    const rows = await tx
      .select({ id, sealedHeaders, sealedBody })
      .from(monitors)
      .where(and(after(id, afterId), or(isOld(sealedBody, secrets), headerIsOld)))
      .orderBy(asc(id))
      .limit(limit)
      .for('no key update', { skipLocked: true });
    const batch = new Batch(secrets);
    for (const row of rows) {
      const headers = Object.entries(row.sealedHeaders ?? {});
      const resealed = {
        sealedHeaders:
          row.sealedHeaders &&
          Object.fromEntries(headers.map(([name, text]) => [name, batch.reseal(row.id, text)])),
        sealedBody: row.sealedBody === null ? null : batch.reseal(row.id, row.sealedBody),
      };
      await tx.update(monitors).set(resealed).where(eq(id, row.id));
    }
    return batch.outcome(rows.at(-1)?.id);
  });
}

/** The same for channels. */
async function resealChannels(
  { db, secrets }: DbContext,
  afterId: string | null,
  limit: number,
): Promise<ResealedBatch> {
  const { id, sealedSecret, sealedPreviousSecret } = channels;
  return db.transaction(async (tx) => {
    const rows = await tx
      .select({ id, sealedSecret, sealedPreviousSecret })
      .from(channels)
      .where(and(after(id, afterId), or(isOld(sealedSecret, secrets), isOld(sealedPreviousSecret, secrets))))
      .orderBy(asc(id))
      .limit(limit)
      .for('no key update', { skipLocked: true });
    const batch = new Batch(secrets);
    for (const row of rows) {
      const previous = row.sealedPreviousSecret;
      const resealed = {
        sealedSecret: batch.reseal(row.id, row.sealedSecret),
        sealedPreviousSecret: previous === null ? null : batch.reseal(row.id, previous),
      };
      await tx.update(channels).set(resealed).where(eq(id, row.id));
    }
    return batch.outcome(rows.at(-1)?.id);
  });
}

/** Counts while it reseals. */
class Batch {
  readonly #secrets: SecretBox;
  readonly #unreadable = new Set<string>();
  #resealed = 0;

  constructor(secrets: SecretBox) {
    this.#secrets = secrets;
  }

  /** The text as it is where no key opens it: what cannot be read now may be with another key. */
  reseal(rowId: string, text: string): string {
    try {
      const resealed = this.#secrets.reseal(text);
      if (resealed !== text) this.#resealed += 1;
      return resealed;
    } catch {
      this.#unreadable.add(rowId);
      return text;
    }
  }

  outcome(lastId: string | undefined): ResealedBatch {
    return { resealed: this.#resealed, unreadable: [...this.#unreadable], lastId: lastId ?? null };
  }
}

function after(id: AnyPgColumn, afterId: string | null): SQL | undefined {
  return afterId === null ? undefined : gt(id, afterId);
}

/** Null is not old: the comparison is null then, too. */
function isOld(column: AnyPgColumn, secrets: SecretBox): SQL {
  return not(sql`starts_with(${column}, ${secrets.currentPrefix})`);
}

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
