import type { SystemLoad } from '../load/system-load.ts';
import type { Findings } from './judge.ts';

/** All that was asked of a monitor's target, and all that was recorded of it. */
export interface MonitorHistory {
  readonly monitorId: string;
  readonly askedAt: readonly string[];
  readonly events: readonly object[];
}

/** More of them say no more. */
const MOST = 5;

/** What to begin a search with, of monitors whose target was asked more or less often than they have events. */
export async function readHistories(
  load: SystemLoad,
  { askedOtherwise }: Pick<Findings, 'askedOtherwise'>,
): Promise<MonitorHistory[]> {
  const histories: MonitorHistory[] = [];
  for (const { place, monitorId } of askedOtherwise.slice(0, MOST)) {
    const { rows } = await load.lab.database.pool.query<object>(
      `select timestamp, slot, source, latency_ms as latency, status, error_reason as "errorReason"
       from events where monitor_id = $1 order by timestamp`,
      [monitorId],
    );
    const askedAt = (load.target.requests.get(place) ?? []).map((time) => new Date(time).toISOString());
    histories.push({ monitorId, askedAt, events: rows });
  }
  return histories;
}
