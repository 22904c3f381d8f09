import { AppError, type FieldError } from '@tocsin/contracts/errors';
import { sql } from 'drizzle-orm';
import { z } from 'zod';
import type { WriteContext } from '../accounts/quotas.ts';
import { ADVISORY_LOCKS } from '../database/leader-lease.ts';
import type { Queryable } from '../database/open.ts';
import { arrayOf, query } from '../database/sql.ts';

/** A region that a request names. */
interface NamedRegion {
  readonly code: string;
  /** Path of the field. */
  readonly path: string;
  /** Identifies the monitor in error messages. */
  readonly suffix?: string;
}

const MAX_ERRORS = 100;

const agentRegion = z.object({ code: z.string(), allowed: z.boolean() });

/** Pairs each region of a monitor with its path. @param path path of the list */
export function namedRegions(regions: readonly string[], path = 'regions', suffix = ''): NamedRegion[] {
  return regions.map((code, index) => ({ code, path: `${path}.${index}`, suffix }));
}

/**
 * Requires that monitors of the account may name these regions. If `REGIONS` is set, they may name its codes, `DEFAULT_REGION`, and agent
 * regions. They may never name another account's region. Call it in the transaction that writes the monitors. Until the commit, no other
 * transaction creates or deletes any of these regions.
 * @throws AppError validation_failed, with the same message for an unknown region and for another account's
 */
export async function requireRegions(
  db: Queryable,
  accountId: string,
  { settings }: Pick<WriteContext, 'settings'>,
  named: readonly NamedRegion[],
): Promise<void> {
  const codes = [...new Set(named.map(({ code }) => code))];
  if (codes.length === 0) return;
  await db.execute(sql`
    select pg_advisory_xact_lock_shared(${ADVISORY_LOCKS.regions}, hashtext(code))
    from unnest(${arrayOf('text', codes)}) as code`);
  const found = await query(db, agentRegion)`
    select code, coalesce(account_id = ${accountId}, true) as allowed from agent_regions
    where code = any(${arrayOf('text', codes)}) or account_id is null or account_id = ${accountId}
    order by code`;
  const allowed = new Map(found.map(({ code, allowed }) => [code, allowed]));
  const { regions = null, defaultRegion = '' } = settings ?? {};
  const listed = new Set([...(regions ?? []), defaultRegion]);
  const refused = named.filter(({ code }) => !(allowed.get(code) ?? (regions === null || listed.has(code))));
  if (refused.length === 0) return;
  const known = new Set([...listed, ...allowed.keys()]);
  const choices = [...known].filter((code) => allowed.get(code) !== false).join(', ');
  const errors = refused.slice(0, MAX_ERRORS).map(({ path, suffix = '' }): FieldError => {
    return { path, message: `must be one of ${choices}${suffix}` };
  });
  throw new AppError('validation_failed', 'Monitors of this account cannot name some of these regions.', {
    errors,
  });
}
