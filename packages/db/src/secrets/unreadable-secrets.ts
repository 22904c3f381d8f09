import { z } from 'zod';
import type { DbContext, Queryable } from '../database/open.ts';
import { query } from '../database/sql.ts';

const sealedCount = z.object({ keyId: z.string(), secrets: z.number() });

/** Counts the secrets that each key has sealed, by the key's id. */
export async function countSealed(db: Queryable): Promise<Map<string, number>> {
  const rows = await query(db, sealedCount)`
    select split_part(sealed, '.', 2) as key_id, count(*)::int as secrets from (
      select h.value as sealed from monitors m cross join lateral jsonb_each_text(m.sealed_headers) h
      union all select sealed_body from monitors where sealed_body is not null
      union all select sealed_tls_key from monitors where sealed_tls_key is not null
      union all select sealed_secret from channels
      union all select sealed_previous_secret from channels where sealed_previous_secret is not null
      union all select h.value from channels c cross join lateral jsonb_each_text(c.sealed_headers) h
      union all select sealed_routing_key from channels where sealed_routing_key is not null
      union all select sealed_routing_key from deliveries where sealed_routing_key is not null) s
    group by 1`;
  return new Map(rows.map(({ keyId, secrets }) => [keyId, secrets]));
}

/** Returns the counts of `countSealed` for keys other than these. */
export async function countUnreadable(
  db: Queryable,
  keyIds: readonly string[],
): Promise<Map<string, number>> {
  const sealed = await countSealed(db);
  for (const keyId of keyIds) sealed.delete(keyId);
  return sealed;
}

/** Reports each missing key that has sealed secrets. Never rejects, because other code reports that the database is unavailable. */
export async function reportUnreadable(
  { db, secrets }: DbContext,
  report: (message: string) => void,
): Promise<void> {
  const unreadable = await countUnreadable(db, secrets.keyIds).catch(() => new Map<string, number>());
  for (const [keyId, count] of unreadable) {
    report(
      `SECRETS_KEY lacks the key ${keyId}, with which ${count} secrets are sealed: put it at the end of SECRETS_KEY`,
    );
  }
}
