import { statfs } from 'node:fs/promises';
import { rollUpNextHour } from '@tocsin/db/check-rollups/roll-up';
import { countPackable, packEvents } from '@tocsin/db/events/pack-events';
import { dropExpiredEventPartitions } from '@tocsin/db/events/partitions';
import { UsageError } from '@tocsin/embedded/program/run-program';
import type { ApiCall } from '@tocsin/lab/api-client';
import { insertMonitors } from '@tocsin/lab/monitors';
import type { System } from '@tocsin/lab/system';
import { repeatPackedDay } from '../measure/repeat-packed-day.ts';
import { readEventTable, readPackedEvents } from '../measure/events.ts';
import { fillHistory, hoursAgo, setRolledUntil, withClient } from '../measure/fill-history.ts';
import { measureCalls, timeOf } from '../measure/requests.ts';
import { figure, type Figure } from '../report/figure.ts';
import { openStage } from '../stage.ts';
import { eventsOf, exampleUrl, getsOf, MONITORS } from './api.ts';
import type { Bench, Measurement } from './scenario.ts';

const DAYS = 90;
const DAY_MS = 86_400_000;
/** One check per minute over all these days. */
const BIG_MONITOR_EVENTS = 129_600;
/** Disk space for an event with its index, and for its write-ahead log. */
const BYTES_PER_EVENT = 300;
const BYTES_PER_PACKED_EVENT = 70;
const OTHER_BYTES = 4_000_000_000;
/** One request at a time, so that the latency contains no queueing. */
const CLIENTS = 1;
/** Sessions have planned the statements for all partitions by then. */
const WARM_UP_SECONDS = 3;

/**
 * The API with a long history in one Postgres. One day is written as rows and packed as the product does. Its blocks are repeated on the
 * other days: packing each of them would take most of the time, and give the same.
 */
export async function runHistory(bench: Bench): Promise<Measurement> {
  const { events = 10_000_000, monitors = 1_000, seconds = 8 } = bench.options;
  const stage = await openStage(bench);
  const { system } = stage;
  const { pool } = system.database;
  await checkDisk(system, events);
  const ids = await insertMonitors(system, { count: monitors, intervalSeconds: 60, url: exampleUrl });
  const [monitorId = ''] = ids;
  bench.say('Writing a day of events …');
  const big = { monitorId, events: BIG_MONITOR_EVENTS / DAYS };
  const day = await fillHistory(system, { monitorIds: ids, events: Math.round(events / DAYS), days: 1, big });
  const history = { from: day.to - DAYS * DAY_MS, to: day.to };
  const raw = await readEventTable(pool);
  const rollUpMs = await timeRollUp(system);
  await stage.startService('api');
  const measure = (key: string, label: string, calls: readonly ApiCall[]): Promise<Figure[]> =>
    measureCalls(bench, stage, {
      key,
      label,
      calls,
      clients: CLIENTS,
      seconds,
      warmUpSeconds: WARM_UP_SECONDS,
    });
  const latest = ids.map((id) => ({ method: 'GET', path: `${MONITORS}/${id}/events` }));
  const rawFigures = [
    ...(await measure('raw-events', 'events since, of a day that is not packed', eventsOf(ids, day))),
    ...(await measure('raw-latest', 'latest events, not packed', latest)),
  ];
  bench.say('Packing the day …');
  const packMs = await timeOf(() => packAll(system));
  const filledAt = Date.now();
  await repeatPackedDay(system, DAYS, (done) => {
    if (done % 30 === 0) bench.say(`  ${done} days after ${Math.round((Date.now() - filledAt) / 1_000)} s`);
  });
  // Otherwise Postgres would write 90 days back to disk while the requests are measured.
  await withClient(system, (client) => client.query('checkpoint'));
  const packed = await readPackedEvents(pool);
  return {
    settings: { events: packed.events, monitors, days: DAYS, seconds, clients: CLIENTS },
    figures: [
      figure('bytes', 'Postgres bytes per event, with index', raw.bytes / raw.events, 'B'),
      figure(
        'packed-bytes',
        'Postgres bytes per packed event, with index',
        packed.bytes / packed.events,
        'B',
      ),
      figure('pack-rate', 'events packed', (raw.events * 1_000) / packMs, '/s'),
      ...rawFigures,
      ...(await measure('get', 'get a monitor', getsOf(ids))),
      ...(await measure('events', 'events since', eventsOf(ids, history))),
      ...(await measure('latest', 'latest events', latest)),
      figure('roll-up', 'roll an hour up', rollUpMs, 'ms'),
      figure('delete', 'delete a monitor with 129,600 events', await timeDelete(system, monitorId), 'ms'),
      figure('retention', 'drop the oldest day', await timeRetention(system, history.from), 'ms'),
    ],
  };
}

/** @throws UsageError if the disk could become full */
async function checkDisk(system: System, events: number): Promise<void> {
  const { bavail, bsize } = await statfs(system.folder);
  const needed = events * BYTES_PER_PACKED_EVENT + (events / DAYS) * BYTES_PER_EVENT + OTHER_BYTES;
  if (bavail * bsize >= needed) return;
  const gigabytes = Math.ceil(needed / 1_000_000_000);
  throw new UsageError(`${events} events need ${gigabytes} GB of disk. Reduce --events, or set DATA_DIR`);
}

async function timeDelete(system: System, id: string): Promise<number> {
  return timeOf(async () => {
    const response = await system.request('DELETE', `${MONITORS}/${id}`);
    if (response.status !== 204) throw new Error(`not deleted: ${JSON.stringify(response)}`);
  });
}

/** Rolls up one hour, and marks the others as rolled up. */
async function timeRollUp(system: System): Promise<number> {
  await setRolledUntil(system, hoursAgo(48));
  const took = await timeOf(async () => {
    if ((await rollUpNextHour(system.database.db)) === null) throw new Error('no hour was rolled up');
  });
  await setRolledUntil(system, hoursAgo(0));
  return took;
}

async function packAll({ database: { db } }: System): Promise<void> {
  await packEvents(db, { now: Date.now() });
  if ((await countPackable(db)) > 0) throw new Error('a partition was not packed');
}

async function timeRetention(system: System, oldest: number): Promise<number> {
  const days = Math.floor((Date.now() - oldest) / DAY_MS) - 1;
  return timeOf(async () => {
    const dropped = await dropExpiredEventPartitions(system.database.db, days, Date.now());
    if (dropped.length !== 1) throw new Error(`${dropped.length} partitions were dropped, not one`);
  });
}
