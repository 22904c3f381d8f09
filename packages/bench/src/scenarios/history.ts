import { statfs } from 'node:fs/promises';
import { rollUpNextHour } from '@tocsin/db/check-rollups/roll-up';
import { dropExpiredEventPartitions } from '@tocsin/db/events/partitions';
import { UsageError } from '@tocsin/embedded/program/run-program';
import type { ApiCall } from '@tocsin/lab/api-client';
import { insertMonitors } from '@tocsin/lab/monitors';
import type { System } from '@tocsin/lab/system';
import { readEventTable } from '../measure/events.ts';
import { fillHistory } from '../measure/fill-history.ts';
import { measureRequests } from '../measure/requests.ts';
import { figure, type Figure } from '../report/figure.ts';
import { openStage } from '../stage.ts';
import { eventsOf, exampleUrl, getsOf } from './api.ts';
import { withoutNulls } from './scale.ts';
import type { Bench, Measurement } from './scenario.ts';

const DAYS = 90;
/** A check a minute over all these days. */
const BIG_MONITOR_EVENTS = 129_600;
/** Of disk: events with their index, and the write-ahead log. */
const BYTES_PER_EVENT = 300;
const OTHER_BYTES = 4_000_000_000;
/** One after the other: this measures responses, not a queue. */
const CLIENTS = 1;

/** The API with a long history: the maximum of events for one Postgres. */
export async function runHistory(bench: Bench): Promise<Measurement> {
  const { events = 10_000_000, monitors = 1_000, seconds = 8 } = withoutNulls(bench.options);
  const stage = await openStage(bench);
  const { system } = stage;
  await checkDisk(system, events);
  const ids = await insertMonitors(system, { count: monitors, intervalSeconds: 60, url: exampleUrl });
  const [monitorId = ''] = ids;
  bench.say(`Writing ${events.toLocaleString('en-US')} events …`);
  const filledAt = Date.now();
  const { days } = await fillHistory(
    system,
    { monitorIds: ids, events, days: DAYS, big: { monitorId, events: BIG_MONITOR_EVENTS } },
    (day) => {
      if (day % 30 === 0) bench.say(`  ${day} days after ${Math.round((Date.now() - filledAt) / 1_000)} s`);
    },
  );
  const table = await readEventTable(system.database.pool);
  const rollUpMs = await timeRollUp(system);
  await stage.startService('api');
  const measure = (key: string, label: string, calls: readonly ApiCall[]): Promise<Figure[]> =>
    measureCalls(bench, system, { key, label, seconds, calls });
  return {
    settings: { events: table.events, monitors, seconds, clients: CLIENTS },
    figures: [
      figure('bytes', 'Postgres bytes per event, with index', table.bytes / table.events, 'B'),
      ...(await measure('get', 'get a monitor', getsOf(ids))),
      ...(await measure('events', 'events since', eventsOf(ids, days))),
      ...(await measure('latest', 'latest events', latestOf(ids))),
      figure('roll-up', 'roll an hour up', rollUpMs, 'ms'),
      figure('delete', 'delete a monitor with 129,600 events', await timeDelete(system, monitorId), 'ms'),
      figure('retention', 'drop the oldest day', await timeRetention(system, days.from), 'ms'),
    ],
  };
}

/** @throws UsageError if the disk could become full */
async function checkDisk(system: System, events: number): Promise<void> {
  const { bavail, bsize } = await statfs(system.folder);
  const needed = events * BYTES_PER_EVENT + OTHER_BYTES;
  if (bavail * bsize >= needed) return;
  const gigabytes = Math.ceil(needed / 1_000_000_000);
  throw new UsageError(`${events} events need ${gigabytes} GB of disk: take fewer, or set DATA_DIR`);
}

interface CallsPlan {
  readonly key: string;
  readonly label: string;
  readonly seconds: number;
  readonly calls: readonly ApiCall[];
}

async function measureCalls(
  bench: Bench,
  system: System,
  { key, label, seconds, calls }: CallsPlan,
): Promise<Figure[]> {
  bench.say(`Measuring "${label}" …`);
  const { latencyMs, failures } = await measureRequests(system, calls, { clients: CLIENTS, seconds });
  return [
    figure(`${key}-p50`, `${label} p50`, latencyMs.p50, 'ms'),
    figure(`${key}-p99`, `${label} p99`, latencyMs.p99, 'ms'),
    figure(`${key}-count`, '  requests', latencyMs.count, ''),
    ...(failures === 0 ? [] : [figure(`${key}-failures`, '  failures', failures, '')]),
  ];
}

function latestOf(ids: readonly string[]): ApiCall[] {
  return ids.map((id) => ({ method: 'GET', path: `/api/cli/monitors/${id}/events` }));
}

async function timeDelete(system: System, id: string): Promise<number> {
  const startedAt = performance.now();
  const response = await system.request('DELETE', `/api/cli/monitors/${id}`);
  if (response.status !== 204) throw new Error(`not deleted: ${JSON.stringify(response)}`);
  return performance.now() - startedAt;
}

/** Rolls one hour up, and moves the watermark to the end. */
async function timeRollUp(system: System): Promise<number> {
  const setWatermark = (hoursAgo: number): Promise<unknown> =>
    system.database.pool.query(
      `insert into check_rollup_state (rolled_until) values (date_trunc('hour', now()) - make_interval(hours => $1))
       on conflict (singleton) do update set rolled_until = excluded.rolled_until`,
      [hoursAgo],
    );
  await setWatermark(48);
  const startedAt = performance.now();
  if ((await rollUpNextHour(system.database.db)) === null) throw new Error('no hour was rolled up');
  const took = performance.now() - startedAt;
  await setWatermark(0);
  return took;
}

async function timeRetention(system: System, oldest: Date): Promise<number> {
  const days = Math.floor((Date.now() - oldest.getTime()) / 86_400_000) - 1;
  const startedAt = performance.now();
  const dropped = await dropExpiredEventPartitions(system.database.db, days, Date.now());
  if (dropped.length !== 1) throw new Error(`not one partition was dropped but ${dropped.length}`);
  return performance.now() - startedAt;
}
