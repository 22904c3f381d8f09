import { statfs } from 'node:fs/promises';
import { rollUpNextHour } from '@tocsin/db/check-rollups/roll-up';
import { dropExpiredEventPartitions } from '@tocsin/db/events/partitions';
import { UsageError } from '@tocsin/embedded/program/run-program';
import { insertMonitors } from '../lab/create-monitors.ts';
import { fillHistory } from '../lab/fill-history.ts';
import { Lab } from '../lab/lab.ts';
import { readEventTable } from '../measure/events.ts';
import type { ApiClientMessage, ApiClientReport, ApiRequest } from '../processes/api-client.ts';
import { figure, type Figure } from '../report/figure.ts';
import { eventsOf, exampleUrl, getsOf } from './api.ts';
import type { Bench, Measurement } from './scenario.ts';

const DAYS = 90;
/** A check a minute over all these days. */
const BIG_MONITOR_EVENTS = 129_600;
/** Of disk, with index, and what the write-ahead log takes meanwhile. */
const BYTES_PER_EVENT = 300;
const BYTES_BESIDES = 4_000_000_000;
/** One after the other: the time of an answer, not of a queue. */
const CLIENTS = 1;

/** What the API answers out of a long history: the most events that one Postgres is to hold. */
export async function runHistory(bench: Bench): Promise<Measurement> {
  const events = bench.options.events ?? 10_000_000;
  const monitors = bench.options.monitors ?? 1_000;
  const seconds = bench.options.seconds ?? 8;
  const lab = await Lab.open({ queue: 'redis', profile: null }, bench.teardown);
  await checkDisk(lab, events);
  const ids = await insertMonitors(lab, { count: monitors, intervalSeconds: 60, url: exampleUrl });
  const [monitorId = ''] = ids;
  bench.say(`Writing ${events.toLocaleString('en-US')} events …`);
  const filledAt = Date.now();
  const { days } = await fillHistory(
    lab,
    { monitorIds: ids, events, days: DAYS, big: { monitorId, events: BIG_MONITOR_EVENTS } },
    (day) => {
      if (day % 30 === 0) bench.say(`  ${day} days after ${Math.round((Date.now() - filledAt) / 1_000)} s`);
    },
  );
  const table = await readEventTable(lab.database.pool);
  const rollUpMs = await timeRollUp(lab);
  await lab.startService('api');
  return {
    settings: { events: table.events, monitors, seconds, clients: CLIENTS },
    figures: [
      figure('bytes', 'Postgres bytes per event, with index', table.bytes / table.events, 'B'),
      ...(await measure(bench, lab, 'get', 'get a monitor', seconds, getsOf(ids))),
      ...(await measure(bench, lab, 'events', 'events since', seconds, eventsOf(ids, days))),
      ...(await measure(bench, lab, 'latest', 'latest events', seconds, latestOf(ids))),
      figure('roll-up', 'roll an hour up', rollUpMs, 'ms'),
      figure('delete', 'delete a monitor with 129,600 events', await timeDelete(lab, monitorId), 'ms'),
      figure('retention', 'drop the oldest day', await timeRetention(lab, days.from), 'ms'),
    ],
  };
}

/** @throws UsageError before the disk could get full */
async function checkDisk(lab: Lab, events: number): Promise<void> {
  const { bavail, bsize } = await statfs(lab.folder);
  const needed = events * BYTES_PER_EVENT + BYTES_BESIDES;
  if (bavail * bsize >= needed) return;
  const gigabytes = Math.ceil(needed / 1_000_000_000);
  throw new UsageError(`${events} events need ${gigabytes} GB of disk: take fewer, or set DATA_DIR`);
}

async function measure(
  bench: Bench,
  lab: Lab,
  key: string,
  label: string,
  seconds: number,
  requests: readonly ApiRequest[],
): Promise<Figure[]> {
  bench.say(`Measuring "${label}" …`);
  const { apiKey, baseUrl } = lab;
  const client = await lab.startHelper<ApiClientMessage>('api-client');
  const { latencyMs, failures } = await client.ask<ApiClientReport>({
    apiKey,
    baseUrl,
    clients: CLIENTS,
    seconds,
    requests,
  });
  await client.stop();
  return [
    figure(`${key}-p50`, `${label} p50`, latencyMs.p50, 'ms'),
    figure(`${key}-p99`, `${label} p99`, latencyMs.p99, 'ms'),
    figure(`${key}-count`, '  requests', latencyMs.count, ''),
    ...(failures === 0 ? [] : [figure(`${key}-failures`, '  failures', failures, '')]),
  ];
}

function latestOf(ids: readonly string[]): ApiRequest[] {
  return ids.map((id) => ({ method: 'GET', path: `/api/cli/monitors/${id}/events` }));
}

async function timeDelete(lab: Lab, id: string): Promise<number> {
  const startedAt = performance.now();
  const headers = { Authorization: `Bearer ${lab.apiKey}` };
  const response = await fetch(`${lab.baseUrl}/api/cli/monitors/${id}`, { method: 'DELETE', headers });
  if (response.status !== 204) throw new Error(`not deleted: ${response.status} ${await response.text()}`);
  return performance.now() - startedAt;
}

/** Rolls one hour up, and leaves the watermark where nothing is left to do. */
async function timeRollUp(lab: Lab): Promise<number> {
  const setWatermark = (hoursAgo: number): Promise<unknown> =>
    lab.database.pool.query(
      `insert into check_rollup_state (rolled_until) values (date_trunc('hour', now()) - make_interval(hours => $1))
       on conflict (singleton) do update set rolled_until = excluded.rolled_until`,
      [hoursAgo],
    );
  await setWatermark(48);
  const startedAt = performance.now();
  if ((await rollUpNextHour(lab.database.db)) === null) throw new Error('no hour was rolled up');
  const took = performance.now() - startedAt;
  await setWatermark(0);
  return took;
}

async function timeRetention(lab: Lab, oldest: Date): Promise<number> {
  const days = Math.floor((Date.now() - oldest.getTime()) / 86_400_000) - 1;
  const startedAt = performance.now();
  const dropped = await dropExpiredEventPartitions(lab.database.db, days, Date.now());
  if (dropped.length !== 1) throw new Error(`not one partition was dropped but ${dropped.length}`);
  return performance.now() - startedAt;
}
