import { setTimeout as wait } from 'node:timers/promises';
import { systemActor } from '@tocsin/db/audit-log/actor';
import { rollUpNextHour } from '@tocsin/db/check-rollups/roll-up';
import type { CheckRecord } from '@tocsin/db/checks/check-record';
import { recordChecks } from '@tocsin/db/checks/record-checks';
import type { Database } from '@tocsin/db/database/open';
import { deleteMonitor } from '@tocsin/db/monitors/delete-monitors';
import { insertMonitors } from '@tocsin/lab/monitors';
import { fillHour } from '../measure/fill-history.ts';
import { distributionOf } from '../measure/percentiles.ts';
import { timeOf } from '../measure/requests.ts';
import { figure } from '../report/figure.ts';
import { openStage } from '../stage.ts';
import { exampleUrl } from './api.ts';
import type { Bench, Measurement } from './scenario.ts';

/** Results of one batch. */
const BATCH = 100;
/** Monitors that are deleted while the hour is rolled up, one after the other. */
const DELETED = 1_000;
const DELETE_EVERY_MS = 100;
const RECORD_EVERY_MS = 25;

/** How rolling up an hour of many monitors affects recording results and deleting monitors at the same time. */
export async function runRollUp(bench: Bench): Promise<Measurement> {
  const { monitors = 180_000, interval = 300 } = bench.options;
  const { system } = await openStage(bench);
  const { db } = system.database;
  const ids = await insertMonitors(system, { count: monitors, intervalSeconds: interval, url: exampleUrl });
  const deleted = ids.splice(0, DELETED);
  bench.say('Writing an hour of events …');
  const events = await fillHour(system);
  bench.say('Rolling it up …');
  const running = new AbortController();
  const recording = repeat(RECORD_EVERY_MS, running.signal, (turn) => {
    const from = (turn * BATCH) % (ids.length - BATCH);
    return recordChecks(db, ids.slice(from, from + BATCH).map(passedCheck));
  });
  const deleting = repeat(DELETE_EVERY_MS, running.signal, (turn) => {
    const id = deleted[turn];
    return id === undefined ? null : deleteMonitor(db, systemActor(system.context.accountId), id);
  });
  const transactions: number[] = [];
  const rollUpMs = await timeOf(async () => {
    if ((await rollUpNextHour(timed(db, transactions))) === null) throw new Error('no hour was rolled up');
  });
  running.abort();
  const batches = distributionOf(await recording);
  const deletions = distributionOf(await deleting);
  return {
    settings: { monitors, interval, events },
    figures: [
      figure('roll-up', 'roll an hour up', rollUpMs / 1_000, 's'),
      figure('transaction', '  its longest transaction', Math.max(...transactions), 'ms'),
      figure('record-p50', `record a batch of ${BATCH} meanwhile p50`, batches.p50, 'ms'),
      figure('record-max', '  longest', batches.max, 'ms'),
      figure('delete-p50', 'delete a monitor meanwhile p50', deletions.p50, 'ms'),
      figure('delete-max', '  longest', deletions.max, 'ms'),
    ],
  };
}

/** Repeats some work until it is aborted or returns null. @returns the durations, in milliseconds */
async function repeat(
  everyMs: number,
  stop: AbortSignal,
  work: (turn: number) => Promise<unknown> | null,
): Promise<number[]> {
  const durations: number[] = [];
  while (!stop.aborted) {
    const startedAt = performance.now();
    const working = work(durations.length);
    if (working === null) break;
    await working;
    durations.push(performance.now() - startedAt);
    await wait(everyMs);
  }
  return durations;
}

/** Wraps the database to record the duration of each transaction, in milliseconds. */
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
    network: null,
    response: null,
  };
}
