import type { Assertions } from '@tocsin/contracts/monitors/monitor';
import type { HttpMethod } from '@tocsin/contracts/vocabulary';
import type { SecretBox } from '@tocsin/core/secrets/secret-box';
import { eq, inArray, sql } from 'drizzle-orm';
import type { DbContext } from '../database/open.ts';
import { monitorRegions } from '../monitor-regions/table.ts';
import { toInput, UnreadableMonitorError } from './monitor-codec.ts';
import { type MonitorRow, monitors } from './table.ts';

/** What a checker needs to know of a monitor. */
export interface CheckTarget {
  readonly monitorId: string;
  readonly accountId: string;
  readonly revision: number;
  readonly url: string;
  readonly method: HttpMethod;
  readonly headers: Record<string, string> | null;
  readonly body: string | null;
  readonly assertions: Assertions | null;
  readonly intervalSeconds: number;
  readonly timeoutSeconds: number;
  /** Where it is checked: the default region where the monitor names none. */
  readonly regions: readonly string[];
}

/** Monitors as a checker runs them, by id; one that is gone is not in it, one that cannot be read is its error. */
export async function loadCheckTargets(
  context: DbContext,
  monitorIds: readonly string[],
): Promise<Map<string, CheckTarget | UnreadableMonitorError>> {
  const rows = await context.db
    .select({ monitor: monitors, regions: sql<string[]>`array_agg(${monitorRegions.region})` })
    .from(monitors)
    .innerJoin(monitorRegions, eq(monitorRegions.monitorId, monitors.id))
    .where(inArray(monitors.id, [...monitorIds]))
    .groupBy(monitors.id);
  const shareRegions = sharing();
  return new Map(
    rows.map(({ monitor, regions }) => [
      monitor.id,
      readTarget(monitor, shareRegions(regions), context.secrets),
    ]),
  );
}

/** A checker keeps tens of thousands of targets, and most of them name the same few regions: one list for all is a third less. */
function sharing(): (regions: readonly string[]) => readonly string[] {
  const known = new Map<string, readonly string[]>();
  return (regions) => {
    const key = regions.join();
    // A list as the driver reads it has room for many more.
    const shared = known.get(key) ?? [...regions];
    known.set(key, shared);
    return shared;
  };
}

function readTarget(
  monitor: MonitorRow,
  regions: readonly string[],
  secrets: SecretBox,
): CheckTarget | UnreadableMonitorError {
  try {
    const input = toInput(monitor, secrets);
    return {
      monitorId: monitor.id,
      accountId: monitor.accountId,
      revision: monitor.revision,
      url: input.url,
      method: input.method,
      headers: input.headers,
      body: input.body,
      assertions: input.assertions,
      intervalSeconds: input.interval,
      timeoutSeconds: input.timeout,
      regions,
    };
  } catch (error) {
    if (error instanceof UnreadableMonitorError) return error;
    throw error;
  }
}
