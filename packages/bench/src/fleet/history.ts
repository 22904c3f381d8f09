import type { Client } from 'pg';

/** What Postgres keeps of the past at one time. */
export interface HistoryState {
  /** The partitions of the events, and of the packed events, by name. */
  readonly partitions: ReadonlyMap<string, number>;
  /** Bytes of the whole database. */
  readonly databaseBytes: number;
  /** Epoch milliseconds; null before the first roll-up. */
  readonly rolledUntil: number | null;
}

export async function readHistory(client: Client): Promise<HistoryState> {
  const partitions = await client.query<{ name: string; bytes: string }>(
    `select inhrelid::regclass::text as name, pg_total_relation_size(inhrelid) as bytes from pg_inherits
     where inhparent in (to_regclass('events'), to_regclass('event_blocks'))`,
  );
  const { rows } = await client.query<{ bytes: string; rolled: Date | null }>(
    `select pg_database_size(current_database()) as bytes, (select rolled_until from check_rollup_state) as rolled`,
  );
  return {
    partitions: new Map(partitions.rows.map(({ name, bytes }) => [name, Number(bytes)])),
    databaseBytes: Number(rows[0]?.bytes),
    rolledUntil: rows[0]?.rolled?.getTime() ?? null,
  };
}

/** What happened to the history over a run. */
export interface HistoryChanges {
  /** New partitions of events. */
  readonly created: number;
  /** Partitions of packed events that replaced one. */
  readonly packed: number;
  /** Partitions that were dropped with their events. */
  readonly expired: number;
  /** How far the roll-ups advanced, ms. */
  readonly rolledMs: number;
}

/** @param states in order */
export function changesOf(states: readonly HistoryState[]): HistoryChanges {
  let [created, removed, packed] = [0, 0, 0];
  for (const [index, { partitions }] of states.entries()) {
    const before = states[index - 1]?.partitions ?? partitions;
    const added = [...partitions.keys()].filter((name) => !before.has(name));
    packed += added.filter((name) => name.startsWith('event_blocks')).length;
    created += added.filter((name) => !name.startsWith('event_blocks')).length;
    removed += [...before.keys()].filter((name) => !partitions.has(name)).length;
  }
  const rolled = states.flatMap(({ rolledUntil }) => rolledUntil ?? []);
  return { created, packed, expired: removed - packed, rolledMs: (rolled.at(-1) ?? 0) - (rolled[0] ?? 0) };
}
