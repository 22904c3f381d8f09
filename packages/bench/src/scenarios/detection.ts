import { setTimeout as wait } from 'node:timers/promises';
import { insertMonitors, untilApplied, untilChecked } from '@tocsin/lab/monitors';
import { Random } from '@tocsin/lab/random';
import type { System } from '@tocsin/lab/system';
import { distributionOf } from '../measure/percentiles.ts';
import type { Flip } from '../processes/web-target.ts';
import { figure, type Figure } from '../report/figure.ts';
import { openStage } from '../stage.ts';
import type { Bench, Measurement } from './scenario.ts';

const FAILURE_THRESHOLD = 3;
/** Retry intervals per interval. */
const RETRIES_PER_INTERVAL = 6;
/** An outage that is not detected after this many intervals never is. */
const MAX_INTERVALS = FAILURE_THRESHOLD + 1;
const POLL_MS = 500;

/**
 * The time from the beginning of an outage to DOWN. Each outage begins at a random moment of an interval and affects two monitors: one
 * with retries, and one without.
 */
export async function runDetection(bench: Bench): Promise<Measurement> {
  const { monitors: outages = 100, interval = 60, checkers = 2 } = bench.options;
  const retryInterval = Math.max(5, Math.round(interval / RETRIES_PER_INTERVAL));
  const stage = await openStage(bench);
  const { system, target, targetUrl } = stage;
  const { pool } = system.database;
  const url = (number: number): string => `${targetUrl}/f/${number}`;
  const ids = await insertMonitors(system, { count: 2 * outages, intervalSeconds: interval, url });
  const retried = ids.slice(0, outages);
  await pool.query('update monitors set failure_threshold = $1', [FAILURE_THRESHOLD]);
  await pool.query('update monitors set retry_interval_seconds = $1 where id = any($2::uuid[])', [
    retryInterval,
    retried,
  ]);
  await stage.startAll(checkers);
  bench.say('Waiting until each monitor is checked …');
  await untilApplied(system);
  await untilChecked(system);
  const random = new Random(Date.now(), 'outages');
  const startsAt = Date.now();
  const lastsMs = (MAX_INTERVALS + 1) * interval * 1_000;
  const flips = Array.from({ length: outages }, (): Flip => {
    const downAt = startsAt + random.next() * interval * 1_000;
    return { downAt, upAt: downAt + lastsMs };
  });
  await target.request({ type: 'flips', flips: [...flips, ...flips] });
  bench.say(
    `Letting ${outages} targets fail, which takes up to ${(MAX_INTERVALS * interval) / 60} minutes …`,
  );
  const detectedAt = await readDetections(system, ids.length, startsAt + lastsMs);
  const delays = ids.map((id, number) => {
    return ((detectedAt.get(id) ?? Number.NaN) - (flips[number % outages]?.downAt ?? 0)) / 1_000;
  });
  return {
    settings: { outages, interval, retryInterval, failureThreshold: FAILURE_THRESHOLD, checkers },
    figures: [
      ...detectionFigures('retried', `with a retry interval of ${retryInterval} s`, delays.slice(0, outages)),
      ...detectionFigures('plain', 'without retries', delays.slice(outages)),
    ],
  };
}

/** When each monitor went DOWN, by its id, epoch milliseconds. Waits until all have, or until a moment. */
async function readDetections(
  { database }: System,
  count: number,
  until: number,
): Promise<Map<string, number>> {
  for (;;) {
    const { rows } = await database.pool.query<{ id: string; timestamp: Date }>(
      `select monitor_id as id, min(timestamp) as timestamp from status_changes where to_status = 'DOWN' group by 1`,
    );
    if (rows.length >= count || Date.now() > until)
      return new Map(rows.map(({ id, timestamp }) => [id, timestamp.getTime()]));
    await wait(POLL_MS);
  }
}

/** @param delays in seconds; NaN for an outage that was not detected */
function detectionFigures(key: string, label: string, delays: readonly number[]): Figure[] {
  const detected = delays.filter((delay) => !Number.isNaN(delay));
  const distribution = distributionOf(detected);
  return [
    ...(['p50', 'p99', 'max'] as const).map((p) =>
      figure(`${key}-${p}`, `outage to DOWN ${label}, ${p}`, distribution[p], 's'),
    ),
    figure(`${key}-missing`, `outages not detected ${label}`, delays.length - detected.length, ''),
  ];
}
