import { sql, type SQL } from 'drizzle-orm';

/** A JavaScript array as one Postgres array parameter (Drizzle would spread it into a list). */
export function arrayOf(type: string, values: readonly unknown[]): SQL {
  return sql`${sql.param(values)}::${sql.raw(type)}[]`;
}

/** One column of many rows as one array parameter, for `unnest`. */
export function columnOf<Row>(rows: readonly Row[], type: string, pick: (row: Row) => unknown): SQL {
  return arrayOf(type, rows.map(pick));
}
