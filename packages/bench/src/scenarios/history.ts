import { countPackable, packEvents } from '@tocsin/db/events/pack-events';
import type { ApiCall } from '@tocsin/lab/api-client';
import { insertMonitors } from '@tocsin/lab/monitors';
import { setRolledUntil } from '@tocsin/lab/past-events';
import { readEventTable } from '../measure/checks.ts';
import { DAY_MS, fillDay, hoursAgo, repeatPackedDay, requireDisk, withClient } from '../measure/past-days.ts';
import { measureCalls, timeOf, type CallPlan } from '../measure/requests.ts';
import { figure, type Figure } from '../report/figure.ts';
import { openStage } from '../stage.ts';
import { eventsOf, exampleUrl, getsOf, MONITORS } from './api.ts';
import type { Bench, Measurement } from './scenario.ts';

const DAYS = 90;
/** One monitor is checked every minute of the day. */
const BIG_MONITOR_EVENTS = 1_440;
/** Disk space for an event with its index, and for its write-ahead log. */
const BYTES_PER_EVENT = 300;
const BYTES_PER_PACKED_EVENT = 70;
/**
 * One request at a time, so that the latency contains no queueing. After the warm-up, sessions have planned the statements for all
 * partitions.
 */
const CALLS = { clients: 1, warmUpSeconds: 3 };

/**
 * The API with a long history in one Postgres. One day is written as rows and packed as the product does. Its blocks are repeated on the
 * other days, because packing each of them would take most of the time and give the same result.
 */
export async function runHistory(bench: Bench): Promise<Measurement> {
  const { events = 10_000_000, monitors = 1_000, seconds = 8 } = bench.options;
  const stage = await openStage(bench);
  const { system } = stage;
  const { pool, db } = system.database;
  await requireDisk(system.folder, events * BYTES_PER_PACKED_EVENT + (events / DAYS) * BYTES_PER_EVENT);
  const ids = await insertMonitors(system, { count: monitors, intervalSeconds: 60, url: exampleUrl });
  const [bigId = '', ...otherIds] = ids;
  bench.say('Writing a day of events …');
  const perMonitor = Math.max(1, Math.round((events / DAYS - BIG_MONITOR_EVENTS) / otherIds.length));
  const day = await fillDay(system, [
    [otherIds, perMonitor],
    [[bigId], BIG_MONITOR_EVENTS],
  ]);
  const history = { from: day.to - DAYS * DAY_MS, to: day.to };
  const raw = await readEventTable(pool);
  // Otherwise the api would roll the history up while it is measured.
  await setRolledUntil(pool, hoursAgo(0));
  await stage.startService('api');
  const measure = (
    key: string,
    label: string,
    calls: readonly ApiCall[],
    bar: Pick<CallPlan, 'maxP99Ms'> = {},
  ): Promise<Figure[]> => measureCalls(bench, stage, { ...CALLS, seconds, key, label, calls, ...bar });
  const latest = ids.map((id) => ({ method: 'GET', path: `${MONITORS}/${id}/events` }));
  const rawFigures = await measure(
    'raw-events',
    'events since, of a day that is not packed',
    eventsOf(ids, day),
  );
  bench.say('Packing the day …');
  const packMs = await timeOf(() => packEvents(db, { now: Date.now() }));
  if ((await countPackable(db)) > 0) throw new Error('a partition was not packed');
  await repeatPackedDay(system, ids, DAYS, (done) => {
    if (done % 30 === 0) bench.say(`  ${done} days`);
  });
  // Otherwise Postgres would write 90 days back to disk while the requests are measured.
  await withClient(system, (client) => client.query('checkpoint'));
  const packed = await readEventTable(pool, 'event_blocks');
  const packedLabel = 'Postgres bytes per packed event, with index';
  return {
    settings: { events: packed.events, monitors, days: DAYS, seconds, clients: CALLS.clients },
    figures: [
      figure('bytes', 'Postgres bytes per event, with index', raw.bytes / raw.events, 'B'),
      figure('packed-bytes', packedLabel, packed.bytes / packed.events, 'B', { atMost: 40 }),
      figure('pack-rate', 'events packed', (raw.events * 1_000) / packMs, '/s'),
      ...rawFigures,
      ...(await measure('get', 'get a monitor', getsOf(ids))),
      ...(await measure('events', 'events since', eventsOf(ids, history), { maxP99Ms: 15 })),
      ...(await measure('latest', 'latest events', latest)),
    ],
  };
}
