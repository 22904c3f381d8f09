import { setTimeout as wait } from 'node:timers/promises';
import { and, asc, eq, gt, not, or, type SQL, sql } from 'drizzle-orm';
import type { AnyPgColumn } from 'drizzle-orm/pg-core';
import { channels } from '../channels/table.ts';
import type { DbContext, Transaction } from '../database/open.ts';
import { monitors } from '../monitors/table.ts';
import { countSealed } from './unreadable-secrets.ts';

const ROWS_PER_BATCH = 200;
/** A later round finds rows that were locked, and secrets that were sealed meanwhile. */
const ROUNDS = 5;
const BETWEEN_ROUNDS_MS = 500;

export interface ResealReport {
  /** Secrets that this run sealed with the current key. */
  readonly resealed: number;
  /** All secrets, at the end. */
  readonly total: number;
  /** By key, secrets that another of our keys still seals: a session holds the row, or a process keeps using the key. */
  readonly left: ReadonlyMap<string, number>;
  /** By key, secrets that none of our keys decrypts; they were left as they are. */
  readonly unreadable: ReadonlyMap<string, number>;
  /** The monitors and channels of those. */
  readonly unreadableRows: readonly string[];
}

/**
 * Seals every secret at rest with the first key of `SECRETS_KEY`, batch by batch, while services run. It may be interrupted and run again
 * at any time: each batch commits by itself, and finished rows are not read again.
 * @param pause between two rounds
 */
export async function resealSecrets(
  context: DbContext,
  pause: () => Promise<unknown> = () => wait(BETWEEN_ROUNDS_MS),
): Promise<ResealReport> {
  const { currentKeyId, keyIds } = context.secrets;
  let resealed = 0;
  for (let round = 1; ; round += 1) {
    const unreadableRows: string[] = [];
    for (const resealBatch of [resealMonitors, resealChannels]) {
      let lastId: string | null = null;
      do {
        const batch: ResealedBatch = await resealBatch(context, lastId, ROWS_PER_BATCH);
        resealed += batch.resealed;
        unreadableRows.push(...batch.unreadable);
        lastId = batch.lastId;
      } while (lastId !== null);
    }
    const sealed = await countSealed(context.db);
    const others = [...sealed].filter(([keyId]) => keyId !== currentKeyId);
    const left = new Map(others.filter(([keyId]) => keyIds.includes(keyId)));
    if (left.size === 0 || round === ROUNDS) {
      const total = [...sealed.values()].reduce((sum, secrets) => sum + secrets, 0);
      const unreadable = new Map(others.filter(([keyId]) => !keyIds.includes(keyId)));
      return { resealed, total, left, unreadable, unreadableRows };
    }
    await pause();
  }
}

export interface ResealedBatch {
  /** Secrets that are now sealed with the current key. */
  readonly resealed: number;
  /** Rows with a secret that no key decrypts: that secret stays as it is. */
  readonly unreadable: readonly string[];
  /** The last row of the batch; null: there are no more. */
  readonly lastId: string | null;
}

/** Reseals some monitors, except locked ones. Their revision stays: nothing has changed for checks and schedules. */
export async function resealMonitors(
  context: DbContext,
  afterId: string | null,
  limit: number,
): Promise<ResealedBatch> {
  const { id, sealedHeaders, sealedBody } = monitors;
  const { currentPrefix } = context.secrets;
  const headerIsOld = sql`exists (
    select from jsonb_each_text(${sealedHeaders}) h where not starts_with(h.value, ${currentPrefix}))`;
  return resealRows(
    context,
    (tx) =>
      tx
        .select({ id, sealedHeaders, sealedBody })
        .from(monitors)
        .where(and(isAfter(id, afterId), or(isOld(sealedBody, currentPrefix), headerIsOld)))
        .orderBy(asc(id))
        .limit(limit)
        .for('no key update', { skipLocked: true }),
    async (tx, row, reseal) => {
      const headers = Object.entries(row.sealedHeaders ?? {}).map(([name, text]) => [name, reseal(text)]);
      const resealed = {
        sealedHeaders: row.sealedHeaders && (Object.fromEntries(headers) as Record<string, string>),
        sealedBody: row.sealedBody === null ? null : reseal(row.sealedBody),
      };
      await tx.update(monitors).set(resealed).where(eq(id, row.id));
    },
  );
}

/** Reseals some channels, except locked ones. */
async function resealChannels(
  context: DbContext,
  afterId: string | null,
  limit: number,
): Promise<ResealedBatch> {
  const { id, sealedSecret, sealedPreviousSecret } = channels;
  const { currentPrefix } = context.secrets;
  return resealRows(
    context,
    (tx) =>
      tx
        .select({ id, sealedSecret, sealedPreviousSecret })
        .from(channels)
        .where(
          and(
            isAfter(id, afterId),
            or(isOld(sealedSecret, currentPrefix), isOld(sealedPreviousSecret, currentPrefix)),
          ),
        )
        .orderBy(asc(id))
        .limit(limit)
        .for('no key update', { skipLocked: true }),
    async (tx, row, reseal) => {
      const previous = row.sealedPreviousSecret;
      const resealed = {
        sealedSecret: reseal(row.sealedSecret),
        sealedPreviousSecret: previous === null ? null : reseal(previous),
      };
      await tx.update(channels).set(resealed).where(eq(id, row.id));
    },
  );
}

async function resealRows<Row extends { readonly id: string }>(
  { db, secrets }: DbContext,
  read: (tx: Transaction) => Promise<Row[]>,
  write: (tx: Transaction, row: Row, reseal: (text: string) => string) => Promise<void>,
): Promise<ResealedBatch> {
  return db.transaction(async (tx) => {
    const rows = await read(tx);
    const unreadable = new Set<string>();
    let count = 0;
    for (const row of rows) {
      await write(tx, row, (text) => {
        try {
          const resealed = secrets.reseal(text);
          if (resealed !== text) count += 1;
          return resealed;
        } catch {
          // Another key may still decrypt it some day.
          unreadable.add(row.id);
          return text;
        }
      });
    }
    return { resealed: count, unreadable: [...unreadable], lastId: rows.at(-1)?.id ?? null };
  });
}

function isAfter(id: AnyPgColumn, afterId: string | null): SQL | undefined {
  return afterId === null ? undefined : gt(id, afterId);
}

/** Null is not old: the comparison is null then, too. */
function isOld(column: AnyPgColumn, currentPrefix: string): SQL {
  return not(sql`starts_with(${column}, ${currentPrefix})`);
}
