import { sql } from 'drizzle-orm';
import { isRefusal } from './errors.ts';
import type { Database, Transaction } from './open.ts';

/** Time limit of each statement for a record, in milliseconds. Replaces the usual limit. */
const STATEMENT_TIMEOUT_MS = 1_000;
/** Records from a refused batch are tried one at a time for this long. The next call tries the rest. */
const TRY_WITHIN_MS = 5_000;

/** A record that PostgreSQL refuses even alone. */
export interface RefusedRecord {
  readonly id: string;
  readonly error: unknown;
}

/**
 * Handles each record of a refused batch alone, so that one that always fails does not stop the others. The order is random, because records
 * that time out could otherwise use up the time of every call. @throws the first error that is not a refusal
 */
export async function tryAlone<Item extends { readonly id: string }, Result>(
  db: Database,
  records: readonly Item[],
  work: (tx: Transaction, record: Item) => Promise<Result>,
): Promise<{ results: Result[]; refused: RefusedRecord[]; untried: Item[] }> {
  const until = performance.now() + TRY_WITHIN_MS;
  const results: Result[] = [];
  const refused: RefusedRecord[] = [];
  const untried = shuffled(records);
  while (performance.now() < until) {
    const record = untried.pop();
    if (record === undefined) break;
    const working = db.transaction(async (tx) => {
      await tx.execute(sql`select set_config('statement_timeout', ${String(STATEMENT_TIMEOUT_MS)}, true)`);
      return work(tx, record);
    });
    try {
      results.push(await working);
    } catch (error) {
      if (!isRefusal(error)) throw error;
      refused.push({ id: record.id, error });
    }
  }
  return { results, refused, untried };
}

/**
 * Handles records in one transaction or, if PostgreSQL refuses it, each one alone (`tryAlone`).
 * @param onRefused called for each record that PostgreSQL refuses even alone
 * @returns the results, and the records for which no time was left
 */
export async function tryTogether<Item extends { readonly id: string }, Result>(
  db: Database,
  records: readonly Item[],
  work: (tx: Transaction, records: readonly Item[]) => Promise<Result[]>,
  onRefused: (record: RefusedRecord) => void,
): Promise<{ results: Result[]; untried: readonly Item[] }> {
  if (records.length === 0) return { results: [], untried: [] };
  try {
    return { results: await db.transaction((tx) => work(tx, records)), untried: [] };
  } catch (error) {
    if (!isRefusal(error)) throw error;
  }
  const { results, refused, untried } = await tryAlone(db, records, (tx, record) => work(tx, [record]));
  for (const record of refused) onRefused(record);
  return { results: results.flat(), untried };
}

function shuffled<Item>(items: readonly Item[]): Item[] {
  const keyed = items.map((item) => ({ item, key: Math.random() }));
  return keyed.toSorted((a, b) => a.key - b.key).map(({ item }) => item);
}
