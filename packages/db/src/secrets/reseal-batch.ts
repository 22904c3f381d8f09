import type { SecretBox } from '@tocsin/core/secrets/secret-box';
import { and, asc, eq, gt, not, or, sql, type SQL } from 'drizzle-orm';
import type { AnyPgColumn } from 'drizzle-orm/pg-core';
import { channels } from '../channels/table.ts';
import type { DbContext } from '../database/context.ts';
import { monitors } from '../monitors/table.ts';

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
export async function resealChannels(
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
