import { sql } from 'drizzle-orm';
import { columnOf } from '../database/arrays.ts';
import type { Queryable } from '../database/open.ts';
import { apiKeys } from './table.ts';

/** Writes `lastUsedAt` of many keys in one statement; never moves it back (specification "Authentication" 8). */
export async function touchApiKeys(db: Queryable, lastUsed: ReadonlyMap<string, Date>): Promise<void> {
  if (lastUsed.size === 0) return;
  const uses = [...lastUsed];
  await db.execute(sql`
    update ${apiKeys} k set last_used_at = greatest(k.last_used_at, u.used_at)
    from unnest(${columnOf(uses, 'uuid', ([id]) => id)}, ${columnOf(uses, 'timestamptz', ([, time]) => time.toISOString())}) as u (id, used_at)
    where k.id = u.id`);
}
