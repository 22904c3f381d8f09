import type { MonitorInput } from '@tocsin/contracts/monitors/monitor';
import type { SecretBox } from '@tocsin/core/secrets/secret-box';
import { eq, inArray, sql } from 'drizzle-orm';
import { z } from 'zod';
import type { Database, DbContext } from '../database/open.ts';
import { pick } from '../database/fields.ts';
import { arrayOf, query } from '../database/sql.ts';
import { monitorRegions } from '../monitor-regions/table.ts';
import { readInput, type UnreadableMonitorError } from './monitor-codec.ts';
import { type MonitorRow, monitors } from './table.ts';

/** Fields of a monitor that a probe needs, besides its timeout. */
export const PROBED_FIELDS = [
  'url',
  'method',
  'headers',
  'body',
  'followRedirects',
  'ipFamily',
  'connectTo',
  'tls',
  'assertions',
] as const;

/** Fields of a monitor that a checker needs. */
export interface CheckTarget
  extends
    Readonly<Pick<MonitorInput, (typeof PROBED_FIELDS)[number]>>,
    Readonly<
      Pick<
        MonitorRow,
        'accountId' | 'revision' | 'enabled' | 'intervalSeconds' | 'timeoutSeconds' | 'retryIntervalSeconds'
      >
    > {
  readonly monitorId: string;
  /** Regions that check the monitor, which is the default region if the monitor names none. */
  readonly regions: readonly string[];
}

const monitorRevision = z.object({ id: z.string(), revision: z.number() });

/** Loads monitors for a checker by id. Omits monitors that do not exist. An unreadable monitor has an error as its value. */
export async function loadCheckTargets(
  { db, secrets }: DbContext,
  monitorIds: readonly string[],
): Promise<Map<string, CheckTarget | UnreadableMonitorError>> {
  const rows = await db
    .select({ monitor: monitors, regions: sql<string[]>`array_agg(${monitorRegions.region})` })
    .from(monitors)
    .innerJoin(monitorRegions, eq(monitorRegions.monitorId, monitors.id))
    .where(inArray(monitors.id, [...monitorIds]))
    .groupBy(monitors.id);
  // A checker keeps tens of thousands of targets, and most have the same few regions. Sharing one list saves a third of the memory.
  const lists = new Map<string, readonly string[]>();
  return new Map(
    rows.map(({ monitor, regions }) => {
      const key = regions.join();
      // The driver's own list reserves space for many more regions.
      const shared = lists.get(key) ?? [...regions];
      lists.set(key, shared);
      return [monitor.id, toTarget(monitor, shared, secrets)];
    }),
  );
}

/** Reads the current revisions of monitors by id. Omits monitors that do not exist. */
export async function readRevisions(
  db: Database,
  monitorIds: readonly string[],
): Promise<Map<string, number>> {
  const rows = await query(db, monitorRevision)`
    select id, revision from monitors where id = any(${arrayOf('uuid', monitorIds)})`;
  return new Map(rows.map(({ id, revision }) => [id, revision]));
}

function toTarget(row: MonitorRow, regions: readonly string[], secrets: SecretBox) {
  const { id: monitorId, accountId, revision, intervalSeconds, timeoutSeconds, retryIntervalSeconds } = row;
  const { shown, error } = readInput(row, secrets);
  const plan = { enabled: row.enabled, intervalSeconds, timeoutSeconds, retryIntervalSeconds, regions };
  return error ?? { monitorId, accountId, revision, ...pick(shown, PROBED_FIELDS), ...plan };
}
