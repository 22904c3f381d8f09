import { createHash } from 'node:crypto';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Selector } from '@tocsin/contracts/labels/selector';
import { and, type SQL, sql } from 'drizzle-orm';
import { z } from 'zod';
import type { DbContext } from '../database/open.ts';
import { PREPARE } from '../database/preparing-client.ts';
import { arrayOf, queryOne } from '../database/sql.ts';
import { showSecrets, type Viewer, WIRE_FIELDS, wireJson } from './monitor-codec.ts';

/** Reading a page of this size does not delay other requests. */
export const PAGE_MONITORS = 250;
/** Maximum size of bodies and header values in a page, unless one monitor has more. A page stays in memory while a slow client reads it. */
const PAGE_SECRET_BYTES = 2_000_000;
const ID_CHARACTERS = 36;

/** Identifies everything that the list shows of a monitor. The last timestamp never returns to an earlier value, so no hash repeats. */
const stateHash = sql`hash_record_extended((id, revision, updated_at, status, status_since, error_detail, last_checked_at,
  last_timestamp), 0)`;

/** Filters of a list. Undefined does not filter. */
export interface MonitorFilter {
  readonly source?: string | undefined;
  readonly labels?: Selector | undefined;
}

/** Returns the condition for the monitors in a list. */
function isListed(accountId: string, { source, labels: selector }: MonitorFilter): SQL | undefined {
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

/** The monitors of an account at one moment. */
export interface MonitorListing {
  /** Changes with everything that the list shows to this viewer. */
  readonly version: string;
  readonly count: number;
  /** Ids, newest monitor first. They are one text with commas, because an account may have tens of thousands. */
  readonly ids: string;
  /** Monitors per page. Equals `PAGE_MONITORS`, or less if a listed monitor has long header values or a long body. */
  readonly pageMonitors: number;
}

const stateRow = z.object({ count: z.number(), hash: z.string() });

/** Reads the version of the list without its ids, which take as long again. It reads no secret and sorts nothing. */
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

const listingRow = stateRow.extend({ ids: z.string(), secretBytes: z.number() });

export async function readListing(
  context: DbContext,
  viewer: Viewer,
  filter: MonitorFilter = {},
): Promise<MonitorListing> {
  const { ids, secretBytes, ...state } = await queryOne(context.db, listingRow)`${PREPARE}
    select count(*)::int as count, coalesce(bit_xor(m.hash), 0)::text as hash, coalesce(string_agg(m.id::text, ','), '') as ids,
      coalesce(max(m.secret_bytes), 0) as "secretBytes"
    from (
      select id, ${stateHash} as hash,
        coalesce(octet_length(sealed_body), 0) + coalesce(pg_column_size(sealed_headers), 0) as secret_bytes
      from monitors where ${isListed(viewer.accountId, filter)}
      order by created_at desc, id desc
    ) m`;
  const pageMonitors = Math.min(PAGE_MONITORS, Math.max(1, Math.floor(PAGE_SECRET_BYTES / secretBytes)));
  return { version: versionOf(state, context, viewer), count: state.count, ids, pageMonitors };
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

/** Reads a listing page by page as comma-separated JSON records, so that no connection or snapshot waits for a slow reader. */
export async function* readListedMonitors(
  { db, secrets }: DbContext,
  viewer: Viewer,
  { ids, pageMonitors }: Pick<MonitorListing, 'ids' | 'pageMonitors'>,
): AsyncGenerator<string> {
  const length = pageMonitors * (ID_CHARACTERS + 1);
  const readPage = async (from: number): Promise<string | null> => {
    if (from >= ids.length) return null;
    const page = `{${ids.slice(from, from + length - 1)}}`;
    const { records } = await queryOne(db, pageRow)`${PREPARE}
      select string_agg(${wireJson}, ',' order by m.created_at desc, m.id desc) as records
      from monitors m where m.id = any(${page}::uuid[]) and m.account_id = ${viewer.accountId}`;
    return records;
  };
  let reading = readPage(0);
  for (let from = 0; from < ids.length; from += length) {
    const records = await reading;
    // PostgreSQL reads a page while this process decrypts and sends the previous one.
    reading = readPage(from + length);
    // An error is thrown when the page is due, unless the reader has left.
    reading.catch(() => undefined);
    // The query is sent only in the next turn of the event loop.
    await nextTurn();
    if (records !== null) yield showSecrets(records, secrets, viewer);
  }
}
