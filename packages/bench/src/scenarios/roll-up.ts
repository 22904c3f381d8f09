import { setTimeout as wait } from 'node:timers/promises';
import { rollUpNextHour } from '@tocsin/db/check-rollups/roll-up';
import { recordChecks } from '@tocsin/db/checks/record-checks';
import type { CheckRecord } from '@tocsin/db/checks/record-checks';
import type { Database } from '@tocsin/db/database/open';
import { deleteMonitor } from '@tocsin/db/monitors/delete-monitors';
import { Client } from 'pg';
import { insertMonitors } from '@tocsin/lab/monitors';
import type { System } from '@tocsin/lab/system';
import { distributionOf } from '../measure/percentiles.ts';
import { figure } from '../report/figure.ts';
import { openStage } from '../stage.ts';
import { exampleUrl } from './api.ts';
import { withoutNulls } from './scale.ts';
import type { Bench, Measurement } from './scenario.ts';

const HOUR_MS = 3_600_000;
/** Results of one batch. */
const BATCH = 100;
/** Monitors that are deleted while the hour is rolled up, one after the other. */
const DELETED = 1_000;
const DELETE_EVERY_MS = 100;
const RECORD_EVERY_MS = 25;

/** How rolling up an hour of many monitors affects recording results and deleting monitors at the same time. */
export async function runRollUp(bench: Bench): Promise<Measurement> {
  const { monitors = 180_000, interval = 300 } = withoutNulls(bench.options);
  const { system } = await openStage(bench);
  const { db } = system.database;
  const ids = await insertMonitors(system, { count: monitors, intervalSeconds: interval, url: exampleUrl });
  bench.say('Writing an hour of events …');
  const events = await fillHour(system, Math.floor(Date.now() / HOUR_MS - 3) * HOUR_MS);
  const transactions: number[] = [];
  bench.say('Rolling it up …');
  const running = new AbortController();
  const recording = record(db, ids.slice(DELETED), running.signal);
  const deleting = removeMonitors(db, system.context.accountId, ids.slice(0, DELETED), running.signal);
  const startedAt = performance.now();
  if ((await rollUpNextHour(timed(db, transactions))) === null) throw new Error('no hour was rolled up');
  const seconds = (performance.now() - startedAt) / 1_000;
  running.abort();
  const batches = distributionOf(await recording);
  const deletions = distributionOf(await deleting);
  return {
    settings: { monitors, interval, events },
    figures: [
      figure('roll-up', 'roll an hour up', seconds, 's'),
      figure('transaction', '  its longest transaction', distributionOf(transactions).max, 'ms'),
      figure('record-p50', `record a batch of ${BATCH} meanwhile p50`, batches.p50, 'ms'),
      figure('record-max', '  longest', batches.max, 'ms'),
      figure('delete-p50', 'delete a monitor meanwhile p50', deletions.p50, 'ms'),
      figure('delete-max', '  longest', deletions.max, 'ms'),
    ],
  };
}

/** Writes the events of an hour, one for each planned slot, and sets the watermark to it. @returns how many */
async function fillHour(system: System, hour: number): Promise<number> {
  // The pool limits how long its connections may work.
  const client = new Client({ connectionString: system.databaseUrl });
  await client.connect();
  try {
    await client.query(`update schedule_spans set starts_at = now() - interval '1 day'`);
    const { rowCount } = await client.query(
      `insert into events (monitor_id, timestamp, id, status, latency_ms, status_code, region, source, slot, tcp_ms,
         first_byte_ms)
       select monitor_id, slot + interval '80 ms', gen_random_uuid(), 'UP', 80, 200, region, 'schedule', slot, 20, 60
       from schedule_spans, lateral (
         select interval_seconds * 1000::bigint as every) as i,
       lateral (
         select to_timestamp(moment / 1000.0) as slot
         from generate_series($1::bigint + (phase_ms - $1::bigint % every + every) % every, $1::bigint + 3599999, every)
           as moment) as planned
       order by slot`,
      [hour],
    );
    await client.query('vacuum analyze events, schedule_spans');
    await client.query(
      `insert into check_rollup_state (rolled_until) values ($1)
       on conflict (singleton) do update set rolled_until = excluded.rolled_until`,
      [new Date(hour)],
    );
    return rowCount ?? 0;
  } finally {
    await client.end();
  }
}

/** The database, which notes how long each transaction takes, in milliseconds. */
function timed(db: Database, durations: number[]): Database {
  const transaction: Database['transaction'] = async (work, config) => {
    const startedAt = performance.now();
    try {
      return await db.transaction(work, config);
    } finally {
      durations.push(performance.now() - startedAt);
    }
  };
  return Object.assign(Object.create(db) as Database, { transaction });
}

/** Records batch after batch until it is stopped. @returns their durations, in milliseconds */
async function record(db: Database, ids: readonly string[], stop: AbortSignal): Promise<number[]> {
  const durations: number[] = [];
  for (let from = 0; !stop.aborted; from = (from + BATCH) % (ids.length - BATCH)) {
    durations.push(await timeOf(() => recordChecks(db, ids.slice(from, from + BATCH).map(passedCheck))));
    await wait(RECORD_EVERY_MS);
  }
  return durations;
}

async function timeOf(work: () => Promise<unknown>): Promise<number> {
  const startedAt = performance.now();
  await work();
  return performance.now() - startedAt;
}

function passedCheck(monitorId: string): CheckRecord {
  return {
    monitorId,
    region: 'default',
    revision: 1,
    slot: Date.now(),
    source: 'schedule',
    triggerId: null,
    urlOverride: null,
    status: 'UP',
    latencyMs: 12,
    statusCode: 200,
    errorReason: null,
    errorDetail: null,
    timings: { dns: 1, tcp: 2, tls: 3, firstByte: 4, download: 2 },
    certificateExpiresAt: null,
  };
}

/** Deletes one monitor after the other until it is stopped. @returns the durations, in milliseconds */
async function removeMonitors(
  db: Database,
  accountId: string,
  ids: readonly string[],
  stop: AbortSignal,
): Promise<number[]> {
  const durations: number[] = [];
  for (const id of ids) {
    if (stop.aborted) break;
    durations.push(await timeOf(() => deleteMonitor(db, accountId, id)));
    await wait(DELETE_EVERY_MS);
  }
  return durations;
}
