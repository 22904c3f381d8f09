import { sql } from 'drizzle-orm';
import type { DbContext, Queryable } from '../database/open.ts';

/** How many secrets each key has sealed, by the key's name (`SecretBox`). */
export async function countSealed(db: Queryable): Promise<Map<string, number>> {
  const { rows } = await db.execute<{ key_id: string; secrets: number }>(sql`
    select split_part(sealed, '.', 2) as key_id, count(*)::int as secrets from (
      select h.value as sealed from monitors m cross join lateral jsonb_each_text(m.sealed_headers) h
      union all select sealed_body from monitors where sealed_body is not null
      union all select sealed_secret from channels
      union all select sealed_previous_secret from channels where sealed_previous_secret is not null) s
    group by 1`);
  return new Map(rows.map(({ key_id, secrets }) => [key_id, secrets]));
}

/** Those of them that none of these keys opens. */
export async function countUnreadable(
  db: Queryable,
  keyIds: readonly string[],
): Promise<Map<string, number>> {
  const sealed = await countSealed(db);
  for (const keyId of keyIds) sealed.delete(keyId);
  return sealed;
}

/**
 * Tells of secrets that no key of ours opens, in a sentence for each missing key: what they belong to fails until it is back.
 * Never rejects: a database that is away is told of by others.
 */
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
