import { createHash } from 'node:crypto';
import type { Selector } from '@tocsin/contracts/labels/selector';
import { and, type SQL, sql } from 'drizzle-orm';
import { z } from 'zod';
import type { DbContext } from '../database/open.ts';
import { PREPARE } from '../database/preparing-client.ts';
import { arrayOf, queryOne } from '../database/sql.ts';
import { readIdPages } from './id-pages.ts';
import { showSecrets, type Viewer, WIRE_FIELDS, wireJson } from './monitor-codec.ts';

/** Bytes of a page, unless one monitor has more. Reading it does not delay other requests. */
const PAGE_BYTES = 250_000;
/** Approximate bytes of a monitor in the list. */
const listedBytes = sql`1000 + octet_length(url) + pg_column_size(labels) + coalesce(pg_column_size(assertions), 0)
  + coalesce(octet_length(runbook_url), 0) + coalesce(octet_length(error_detail), 0)
  + coalesce(octet_length(sealed_body), 0) + coalesce(pg_column_size(sealed_headers), 0)
  + coalesce(pg_column_size(tls), 0) + coalesce(octet_length(sealed_tls_key), 0)`;

/** Identifies everything that the list shows of a monitor. The last timestamp never returns to an earlier value, so no hash repeats. */
const stateHash = sql`hash_record_extended((id, revision, updated_at, status, status_since, error_detail, last_checked_at,
  last_timestamp), 0)`;

/** Filters of a list. Undefined does not filter. */
export interface MonitorFilter {
  readonly source?: string | undefined;
  readonly labels?: Selector | undefined;
}

/** Returns the condition for the monitors in a list. */
export function isListed(accountId: string, { source, labels: selector }: MonitorFilter): SQL | undefined {
  const { matchLabels, matchExpressions = [] } = selector ?? {};
  const conditions = matchExpressions.map(({ key, operator, values = [] }) => {
    const isIn = sql`coalesce(labels ->> ${key} = any(${arrayOf('text', values)}), false)`;
    return {
      In: isIn,
      NotIn: sql`not ${isIn}`,
      Exists: sql`labels ? ${key}`,
      DoesNotExist: sql`not labels ? ${key}`,
    }[operator];
  });
  return and(
    sql`account_id = ${accountId}`,
    source === undefined ? undefined : sql`source = ${source}`,
    matchLabels && sql`labels @> ${JSON.stringify(matchLabels)}::jsonb`,
    ...conditions,
  );
}

const stateRow = z.object({ count: z.number(), hash: z.string() });

/** Returns a text that changes with everything that the list shows to this viewer. Reads no secret and sorts nothing. */
export async function readListVersion(
  context: DbContext,
  viewer: Viewer,
  filter: MonitorFilter = {},
): Promise<string> {
  const state = await queryOne(context.db, stateRow)`${PREPARE}
    select count(*)::int as count, coalesce(bit_xor(${stateHash}), 0)::text as hash
    from monitors where ${isListed(viewer.accountId, filter)}`;
  return versionOf(state, context, viewer);
}

/** A response also depends on the viewer, on the keys that decrypt secrets, and on the fields of this release. */
function versionOf(
  { count, hash }: z.output<typeof stateRow>,
  { secrets }: Pick<DbContext, 'secrets'>,
  { accountId, canWrite }: Viewer,
): string {
  const parts = [accountId, canWrite ? secrets.keyIds : null, WIRE_FIELDS, 'etag', count, hash];
  return createHash('sha256').update(JSON.stringify(parts)).digest('base64url');
}

const pageRow = z.object({ records: z.string().nullable() });

/** Reads the list page by page as comma-separated JSON records, newest monitor first. No connection or snapshot waits for a slow reader. */
export async function* readListedMonitors(
  { db, secrets }: DbContext,
  viewer: Viewer,
  filter: MonitorFilter = {},
): AsyncGenerator<string> {
  const where = isListed(viewer.accountId, filter);
  const order = sql`created_at desc, id desc`;
  const { pages } = await readIdPages(db, { where, order, size: listedBytes, pageSize: PAGE_BYTES });
  for (const page of pages) {
    const { records } = await queryOne(db, pageRow)`${PREPARE}
      select string_agg(${wireJson}, ',' order by m.created_at desc, m.id desc) as records
      from monitors m where m.id = any(${`{${page}}`}::uuid[]) and m.account_id = ${viewer.accountId}`;
    if (records !== null) yield showSecrets(records, secrets, viewer);
  }
}
