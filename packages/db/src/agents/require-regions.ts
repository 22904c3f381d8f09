import { AppError, type FieldError } from '@tocsin/contracts/errors';
import { type SQL, sql } from 'drizzle-orm';
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
/** Regions that an error lists. */
const MAX_CHOICES = 50;

const agentRegion = z.object({ code: z.string(), allowed: z.boolean() });

/**
 * Returns the advisory lock of a region. Regions share 64 locks, because locks take shared memory of the database server, and a set of
 * monitors can name any number of regions.
 */
export function regionLockKey(code: SQL): SQL {
  return sql`(hashtext(${code}) & 63)`;
}

/** Returns the regions of a monitor. @param path of its list of regions */
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
    select pg_advisory_xact_lock_shared(${ADVISORY_LOCKS.regions}, key)
    from (select distinct ${regionLockKey(sql`code`)} as key from unnest(${arrayOf('text', codes)}) as code order by 1) k`);
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
  const choices = [...known].filter((code) => allowed.get(code) !== false);
  const others = choices.length > MAX_CHOICES ? `, or one of ${choices.length - MAX_CHOICES} others` : '';
  const message = `must be one of ${choices.slice(0, MAX_CHOICES).join(', ')}${others}`;
  const errors = refused.slice(0, MAX_ERRORS).map(({ path, suffix = '' }): FieldError => {
    return { path, message: `${message}${suffix}` };
  });
  throw new AppError('validation_failed', 'Monitors of this account cannot name some of these regions.', {
    errors,
  });
}
