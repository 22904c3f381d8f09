import { sql, type SQL } from 'drizzle-orm';
import { z } from 'zod';
import type { Queryable } from '../database/open.ts';
import { queryOne } from '../database/sql.ts';

interface PageOptions {
  readonly where: SQL | undefined;
  readonly order: SQL;
  /** Size of a monitor, a positive integer. */
  readonly size: SQL;
  /** Sizes of the monitors in a page. The last one may exceed it. */
  readonly pageSize: number;
}

const row = z.object({ count: z.number(), pages: z.string() });

/** Reads ids in pages. A page is one text with commas, because an account may have tens of thousands of monitors. */
export async function readIdPages(
  db: Queryable,
  { where, order, size, pageSize }: PageOptions,
): Promise<{ count: number; pages: string[] }> {
  const pageOf = (total: SQL): SQL => sql`(${total} - 1) / ${sql.raw(String(pageSize))}`;
  const { count, pages } = await queryOne(db, row)`
    select count(*)::int as count, coalesce(string_agg(
      case when ${pageOf(sql`total`)} = ${pageOf(sql`total - size`)} then ',' else ';' end || id, ''), '') as pages
    from (
      select id, ${size} as size, sum(${size}) over (order by ${order} rows unbounded preceding) as total
      from monitors where ${where} order by ${order}) m`;
  return { count, pages: count === 0 ? [] : pages.slice(1).split(';') };
}
