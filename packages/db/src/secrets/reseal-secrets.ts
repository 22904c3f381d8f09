import { setTimeout as wait } from 'node:timers/promises';
import { and, asc, eq, gt, or, type SQL, sql } from 'drizzle-orm';
import type { PgColumn, PgTable } from 'drizzle-orm/pg-core';
import { channels } from '../channels/table.ts';
import { deliveries } from '../deliveries/table.ts';
import type { DbContext } from '../database/open.ts';
import { monitors } from '../monitors/table.ts';
import { countSealed } from './unreadable-secrets.ts';

const ROWS_PER_BATCH = 200;
/** A later round finds rows that were locked, and secrets that were sealed in the meantime. */
const ROUNDS = 5;
const BETWEEN_ROUNDS_MS = 500;

interface SealedTable {
  readonly table: PgTable;
  readonly id: PgColumn;
  /** Columns that contain one text or, as `jsonb`, an object of texts. They may be null. */
  readonly columns: Readonly<Record<string, PgColumn>>;
}

const { sealedHeaders, sealedBody, sealedTlsKey } = monitors;

const channelColumns = {
  sealedSecret: channels.sealedSecret,
  sealedPreviousSecret: channels.sealedPreviousSecret,
  sealedHeaders: channels.sealedHeaders,
  sealedRoutingKey: channels.sealedRoutingKey,
};
export const SEALED_TABLES: readonly SealedTable[] = [
  { table: monitors, id: monitors.id, columns: { sealedHeaders, sealedBody, sealedTlsKey } },
  { table: channels, id: channels.id, columns: channelColumns },
  {
    table: deliveries,
    id: deliveries.id,
    columns: { sealedRoutingKey: deliveries.sealedRoutingKey },
  },
];

export interface ResealReport {
  /** Secrets that this run sealed with the current key. */
  readonly resealed: number;
  /** All secrets at the end. */
  readonly total: number;
  /** Number of secrets still sealed with another of our keys, by key id. A session locks their rows, or a process still uses that key. */
  readonly left: ReadonlyMap<string, number>;
  /** Number of secrets sealed with keys that we do not have, by key id. They stay unchanged. */
  readonly unreadable: ReadonlyMap<string, number>;
  /** Monitors, channels and deliveries with unreadable secrets. */
  readonly unreadableRows: readonly string[];
}

/** Seals every secret with the first key of `SECRETS_KEY`, while services run. It may be interrupted and run again. */
export async function resealSecrets(
  context: DbContext,
  pause: () => Promise<unknown> = () => wait(BETWEEN_ROUNDS_MS),
): Promise<ResealReport> {
  const { currentKeyId, keyIds } = context.secrets;
  let resealed = 0;
  for (let round = 1; ; round += 1) {
    const unreadableRows: string[] = [];
    for (const table of SEALED_TABLES) {
      let lastId: string | null = null;
      do {
        const batch: ResealedBatch = await resealBatch(context, table, lastId);
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

interface ResealedBatch {
  readonly resealed: number;
  readonly unreadable: readonly string[];
  readonly lastId: string | null;
}

type Sealed = string | Readonly<Record<string, string>> | null;

/** Reseals the next rows after an id, except locked ones. */
export async function resealBatch(
  { db, secrets }: DbContext,
  { table, id, columns }: SealedTable,
  afterId: string | null,
  limit: number = ROWS_PER_BATCH,
): Promise<ResealedBatch> {
  const unreadable = new Set<string>();
  let resealed = 0;
  const reseal = (rowId: string, text: string): string => {
    try {
      const result = secrets.reseal(text);
      if (result !== text) resealed += 1;
      return result;
    } catch {
      // Another key may still decrypt it later.
      unreadable.add(rowId);
      return text;
    }
  };
  const isOld = or(
    ...Object.values(columns).map((column) => isSealedByAnother(column, secrets.currentPrefix)),
  );
  const lastId = await db.transaction(async (tx) => {
    const rows = await tx
      .select({ id: sql<string>`${id}`, sealed: columns })
      .from(table)
      .where(and(afterId === null ? undefined : gt(id, afterId), isOld))
      .orderBy(asc(id))
      .limit(limit)
      .for('no key update', { skipLocked: true });
    for (const row of rows) {
      const columnsOfRow = Object.entries(row.sealed as Record<string, Sealed>);
      const values = columnsOfRow.map(([name, sealed]) => [
        name,
        mapSealed(sealed, (text) => reseal(row.id, text)),
      ]);
      await tx.update(table).set(Object.fromEntries(values)).where(eq(id, row.id));
    }
    return rows.at(-1)?.id ?? null;
  });
  return { resealed, unreadable: [...unreadable], lastId };
}

function mapSealed(sealed: Sealed, map: (text: string) => string): Sealed {
  if (sealed === null || typeof sealed === 'string') return sealed && map(sealed);
  return Object.fromEntries(Object.entries(sealed).map(([key, text]) => [key, map(text)]));
}

/** Condition that another key sealed the column. Null if the column is null. */
function isSealedByAnother(column: PgColumn, currentPrefix: string): SQL {
  return column.getSQLType() === 'jsonb'
    ? sql`exists (select from jsonb_each_text(${column}) h where not starts_with(h.value, ${currentPrefix}))`
    : sql`not starts_with(${column}, ${currentPrefix})`;
}
