import { TIMESTAMP_RANGE } from '@tocsin/contracts/fields';
import {
  type HasDefault,
  type HasRuntimeDefault,
  type IsPrimaryKey,
  type NotNull,
  type Param,
  sql,
  type SQL,
} from 'drizzle-orm';
import {
  type AnyPgColumn,
  type PgColumn,
  type PgTimestampBuilderInitial,
  type PgUUIDBuilderInitial,
  timestamp,
  uuid,
} from 'drizzle-orm/pg-core';
import { v7 as uuidv7 } from 'uuid';
import { z } from 'zod';
import { encodeArray } from './binary-arrays.ts';
import type { Queryable, Transaction } from './open.ts';

/** A timestamp with milliseconds, as in the API, so that a value that is read back equals the written one. */
export function instant(name: string): PgTimestampBuilderInitial<string> {
  return timestamp(name, { withTimezone: true, precision: 3, mode: 'date' });
}

/** A primary key that sorts by creation. */
export function primaryId(): HasDefault<
  HasRuntimeDefault<IsPrimaryKey<NotNull<PgUUIDBuilderInitial<'id'>>>>
> {
  return uuid('id')
    .primaryKey()
    .$defaultFn(() => uuidv7());
}

/** Owning row. Rows are deleted with it. */
export function ownerId<Name extends string>(
  name: Name,
  owner: () => AnyPgColumn,
): NotNull<PgUUIDBuilderInitial<Name>> {
  return uuid(name).notNull().references(owner, { onDelete: 'cascade' });
}

/** PostgreSQL's clock in whole milliseconds, the only clock of timestamps in rows. */
export const clockNow = sql`date_trunc('milliseconds', clock_timestamp())`;

/** New `updated_at` of a row, which is later than before even if the clock stepped back. */
export function laterThan(updatedAt: PgColumn): SQL {
  return sql`greatest(${clockNow}, ${updatedAt} + interval '1 millisecond')`;
}

export function epochMs(time: SQL | PgColumn): SQL<number> {
  return sql<number>`(extract(epoch from ${time}) * 1000)::float8`;
}

export function timestamptz(time: Date | number): SQL {
  return sql`${toIso(time)}::timestamptz`;
}

/** Passes an array as one parameter, which Drizzle would spread into a list. */
export function arrayOf(type: string, values: readonly unknown[]): SQL {
  return sql`${arrayParam(type, values)}::${sql.raw(type)}[]`;
}

function arrayParam(type: string, values: readonly unknown[]): Param {
  const isTime = type === 'timestamptz';
  const encoded = encodeArray(type, isTime ? values.map(toEpochMs) : values);
  return sql.param(encoded ?? (isTime ? values.map(toIso) : values));
}

function toEpochMs(time: unknown): unknown {
  return time instanceof Date ? time.getTime() : time;
}

/** Formats epoch milliseconds or a date for PostgreSQL, and leaves anything else unchanged. A number outside `TIMESTAMP_RANGE` is infinite. */
export function toIso(time: unknown): unknown {
  if (typeof time === 'number') {
    if (time < TIMESTAMP_RANGE.earliest) return '-infinity';
    return time > TIMESTAMP_RANGE.latest ? 'infinity' : new Date(time).toISOString();
  }
  return time instanceof Date ? time.toISOString() : time;
}

export type Columns<Row> = Readonly<Record<string, readonly [type: string, pick: (row: Row) => unknown]>>;

/** Passes rows as a table `name`, with one array parameter per column. Instants are dates or epoch milliseconds. */
export function tableOf<Row>(name: string, rows: readonly Row[], columns: Columns<Row>): SQL {
  // The statement has few chunks, because Drizzle inspects each of them every time it builds a statement.
  const arrays = Object.values(columns).flatMap(([type, pick], index) => [
    sql.raw(index === 0 ? 'unnest(' : ', '),
    arrayParam(type, rows.map(pick)),
    sql.raw(`::${type}[]`),
  ]);
  return sql.join([...arrays, sql.raw(`) as "${name}" (`), columnNames(columns), sql.raw(')')]);
}

/** Column names of `tableOf`, for an `insert`. */
export function columnNames(columns: Columns<never>): SQL {
  return sql.raw(`"${Object.keys(columns).join('", "')}"`);
}

/** Plans statements as for large tables until the transaction ends, because a plan outlives the size that a table had. */
export async function preferIndexes(tx: Transaction): Promise<void> {
  await tx.execute(
    sql`select set_config(name, 'off', true) from unnest(array['enable_seqscan', 'enable_bitmapscan']) as name`,
  );
}

/**
 * Sends statements in one round trip, and PostgreSQL runs them in order. Waits for all even if one fails, because nothing may be sent for a
 * transaction that has ended. @throws the first error
 */
export async function inOneRoundTrip<Results extends readonly unknown[]>(
  ...sent: { readonly [Index in keyof Results]: Promise<Results[Index]> }
): Promise<Results> {
  await Promise.allSettled(sent);
  return Promise.all(sent) as Promise<unknown> as Promise<Results>;
}

/** Sends a statement written as a template. */
type Statement<Result> = (text: TemplateStringsArray, ...values: unknown[]) => Promise<Result>;

/** Runs a statement and parses its rows, with column names in camel case: ``await query(db, schema)`select …` ``. */
export function query<Row extends z.ZodType>(db: Queryable, row: Row): Statement<z.output<Row>[]> {
  return async (text, ...values) => {
    const { rows, fields } = await db.execute(sql(text, ...values)).execute();
    const names = fields.map(({ name }) => [toCamelCase(name), name] as const);
    return rows.map((found) => {
      const renamed: Record<string, unknown> = {};
      for (const [key, name] of names) renamed[key] = found[name];
      return row.parse(renamed);
    });
  };
}

function toCamelCase(name: string): string {
  return name.replaceAll(/_(.)/g, (_match, letter: string) => letter.toUpperCase());
}

/** Runs a statement that always returns a row, such as an aggregate. */
export function queryOne<Row extends z.ZodType>(db: Queryable, row: Row): Statement<z.output<Row>> {
  return async (...statement) => firstOf(await query(db, row)(...statement));
}

/** Number of due rows, and age of the oldest in seconds, or 0 without any. */
export const backlogRow = z.object({
  count: z.number(),
  oldestSeconds: z
    .number()
    .nullable()
    .transform((seconds) => Math.max(0, seconds ?? 0)),
});
export type Backlog = z.output<typeof backlogRow>;

interface Buildable<Result> {
  prepare(name: string): { execute(values: Readonly<Record<string, unknown>>): Promise<Result> };
}

/** Builds a Drizzle query once per database or transaction, because building takes longer than sending. Pass a value for each `sql.placeholder(name)`. */
export function buildOnce<Result>(
  build: (db: Queryable) => Buildable<Result>,
): (db: Queryable, values: Readonly<Record<string, unknown>>) => Promise<Result> {
  const built = new WeakMap<Queryable, ReturnType<Buildable<Result>['prepare']>>();
  return async (db, values) => {
    // The empty name leaves the statement unnamed, unless it is marked with `PREPARE`.
    const query = built.get(db) ?? build(db).prepare('');
    built.set(db, query);
    return query.execute(values);
  };
}

const textRow = z.record(z.string(), z.string()).transform((row) => Object.values(row));

/** Runs a statement with a single column of ids or texts. */
export function queryColumn(db: Queryable): Statement<string[]> {
  return async (...statement) => (await query(db, textRow)(...statement)).flat();
}

export function firstOf<Row>(rows: readonly Row[]): Row {
  const [row] = rows;
  if (row === undefined) throw new Error('The statement returned no row');
  return row;
}

const clockRow = z.object({ now: z.number() });

/** Reads PostgreSQL's clock, epoch milliseconds. */
export async function readClock(db: Queryable): Promise<number> {
  const { now } = await queryOne(db, clockRow)`select floor(${epochMs(sql`clock_timestamp()`)}) as now`;
  return now;
}

type Wire<Row> = {
  [Key in keyof Row]: Row[Key] extends Date
    ? string
    : Row[Key] extends Date | null
      ? string | null
      : Row[Key];
};

/** Converts a row to a wire record, with dates as ISO 8601. */
export function toWire<Row extends object>(row: Row): Wire<Row> {
  const entries = Object.entries(row).map(([key, value]: [string, unknown]) => [
    key,
    value instanceof Date ? value.toISOString() : value,
  ]);
  return Object.fromEntries(entries) as Wire<Row>;
}
