import { AppError } from '@tocsin/contracts/errors';
import { LIMITS } from '@tocsin/contracts/limits';
import { z } from 'zod';
import type { Transaction } from '../database/open.ts';
import { arrayOf, queryColumn, queryOne } from '../database/sql.ts';

const countRow = z.object({ used: z.number() });

/**
 * Limits the regions without any result that an account names, because each costs a queue, schedules and audits. Call it after `recordAudit`,
 * so that no other transaction of the account names regions at the same time. @throws AppError quota_exceeded
 */
export async function requireRegionQuota(
  tx: Transaction,
  accountId: string,
  written: readonly { readonly regions: readonly string[] }[],
  defaultRegion: string,
): Promise<void> {
  const named = new Set(written.flatMap(({ regions }) => regions));
  named.delete(defaultRegion);
  if (named.size === 0) return;
  const unserved = await queryColumn(tx)`
    select n.region from unnest(${arrayOf('text', [...named])}) as n (region)
    where not exists (
      select from monitor_regions r where r.region = n.region and r.last_checked_at is not null)`;
  // Counting reads all monitors of the account.
  if (unserved.length === 0) return;
  const limit = LIMITS.unservedRegions;
  const { used } = await queryOne(tx, countRow)`
    select count(*)::int as used from (
      select distinct r.region from monitor_regions r join monitors m on m.id = r.monitor_id
      where m.account_id = ${accountId} and r.region <> ${defaultRegion}) n
    where not exists (
      select from monitor_regions r where r.region = n.region and r.last_checked_at is not null)`;
  if (used <= limit) return;
  throw new AppError(
    'quota_exceeded',
    `The monitors of an account can name at most ${limit} regions that no checker has served yet, and would name ${used}, among them "${unserved[0]}". Use the codes of regions that have a checker, or start checkers for the new ones first.`,
    { quota: { quota: 'regions', limit, used } },
  );
}
