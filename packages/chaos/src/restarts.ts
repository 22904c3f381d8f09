import { writeFile } from 'node:fs/promises';
import { setTimeout as wait } from 'node:timers/promises';
import { distributionOf } from '@tocsin/bench/measure/percentiles';
import { runProgram } from '@tocsin/embedded/program/run-program';
import type { Teardown } from '@tocsin/embedded/program/teardown';
import { helpText, number, parseOptions, refusePositionals, text } from '@tocsin/lab/options';
import { Random } from '@tocsin/lab/random';
import { SERVICE_NAMES } from '@tocsin/lab/service-process';
import { Redis } from 'ioredis';
import { describeViolations, markdownTable } from './campaign/report.ts';
import { findLoadViolations, readLoadRecord, type LoadRecord } from './load/load-record.ts';
import { keepMoreEvents, StallWatch } from './load/stall-watch.ts';
import { checkerNames, SystemLoad, type Restart } from './load/system-load.ts';
import { lostDeliveries, repeatedReceipts } from './oracle/deliveries.ts';

const OPTIONS = {
  times: number('restarts of each service', 100, { min: 1, max: 10_000 }),
  rate: number('checks a second', 300, { min: 10, max: 2_000 }),
  interval: number('of each monitor, seconds', 5, { min: 5, max: 300 }),
  checkers: number('checkers, restarted in turn', 2, { min: 1, max: 10 }),
  seed: number('of everything random', 1, { min: 1, max: 2 ** 31 }),
  json: text('writes the result', 'FILE'),
};
type Options = ReturnType<typeof parseOptions<typeof OPTIONS>>['values'];

const ABOUT = `Restarts each service by SIGTERM while a whole system is under load, and compares the records of its targets, Postgres,
the webhook receiver and its clients (docs/reliability.md).`;
/** Between two restarts. */
const MAX_PAUSE_MS = 1_000;
const REPORT_EVERY = 10;
const CREATED_PER_SECOND = 2;

/**
 * `npm run test:restarts`: whether a restart loses, repeats or breaks anything.
 * @public called by `bootstrap.js`
 */
export async function main(args: readonly string[]): Promise<void> {
  await runProgram(async (teardown) => {
    const { help, values, positionals } = parseOptions(args, OPTIONS);
    refusePositionals(positionals);
    if (help) {
      say(helpText('test:restarts --', ABOUT, OPTIONS));
      return 0;
    }
    const record = await run(values, teardown);
    const violations = findLoadViolations(record);
    if (values.json !== null) await writeFile(values.json, `${summaryOf(record, violations)}\n`);
    say(`\n${tableOf(record)}\n`);
    for (const text of describeViolations(violations)) say(text);
    if (violations.length === 0) say('Nothing was lost, repeated or broken.');
    return violations.length === 0 ? 0 : 1;
  });
}

/** The result as JSON, without the evidence, which is as large as the load. */
export function summaryOf(record: LoadRecord, violations: unknown, more: object = {}): string {
  const { seed, seconds, slots, misses, stops, api, stream, logs, stalls } = record;
  return JSON.stringify(
    { seed, seconds, violations, slots, misses, stops, api, stream, logs, stalls, ...more },
    null,
    2,
  );
}

async function run({ times, ...options }: Options, teardown: Teardown): Promise<LoadRecord> {
  const load = await SystemLoad.start({ ...options, createdPerSecond: CREATED_PER_SECOND }, teardown, say);
  const redis = new Redis(load.stores.queueUrl);
  teardown.onStop(async () => redis.disconnect());
  await keepMoreEvents(redis);
  const watch = await teardown.start(StallWatch.start(redis), async (one) => one.abandon());
  await load.stream.ready;
  say('Restarting services under load …');
  const from = Date.now();
  await restartServices(load, times);
  const to = Date.now();
  let stalls = null;
  await load.finish(to, async () => void (stalls = await watch.stop()));
  return readLoadRecord(load, { from, to }, stalls);
}

async function restartServices(load: SystemLoad, times: number): Promise<void> {
  const random = new Random(load.options.seed, 'restarts');
  const checkers = checkerNames(load.options.checkers);
  for (let time = 0; time < times; time += 1) {
    for (const name of ['api', checkers[time % checkers.length] ?? '', 'notifier']) {
      await wait(random.next() * MAX_PAUSE_MS);
      await load.stopService(name, { restart: true });
    }
    if ((time + 1) % REPORT_EVERY === 0) say(`${time + 1} restarts of each service`);
  }
}

/** The result as tables in Markdown. */
export function tableOf(record: LoadRecord): string {
  const services = SERVICE_NAMES.map((service) =>
    rowOf(
      service,
      record.stops.filter(({ name }) => name.startsWith(service)),
    ),
  );
  const head = ['service', 'restarts', 'exit code 0', 'stop p50, max', 'start p50, max'];
  return `${markdownTable(head, services)}\n\n${markdownTable(['what', 'count'], totalsOf(record))}`;
}

function rowOf(service: string, stops: readonly Restart[]): string[] {
  const stop = distributionOf(stops.map(({ stopMs }) => stopMs));
  const start = distributionOf(stops.flatMap(({ startMs }) => startMs ?? []));
  const clean = stops.filter(({ exitCode }) => exitCode === 0).length;
  return [
    service,
    String(stops.length),
    String(clean),
    `${seconds(stop.p50)}, ${seconds(stop.max)} s`,
    `${seconds(start.p50)}, ${seconds(start.max)} s`,
  ];
}

function seconds(ms: number): string {
  return (ms / 1_000).toFixed(2);
}

/** Names and counts of what was recorded. */
export function totalsOf(record: LoadRecord): [what: string, counts: string][] {
  const { slots, database, receipts, failedAttempts, api, stream, logs, stalls } = record;
  const events = [...record.eventCounts.values()].reduce((sum, { all }) => sum + all, 0);
  const changes = database.statusChanges.filter(({ webhookEvents }) => webhookEvents.length > 0);
  const counts: [string, ...number[]][] = [
    ['seconds under load', Math.round(record.seconds)],
    [
      'planned checks, missed, repeated',
      slots.planned,
      slots.planned - slots.checked,
      slots.events - slots.checked,
    ],
    ['events; status changes announced', events, changes.length],
    [
      'webhooks due, received, received again, lost; failed attempts',
      database.deliveries.length,
      receipts.length,
      repeatedReceipts(record).length,
      lostDeliveries(record).length,
      failedAttempts.length,
    ],
    [
      'API responses; broken calls; unexpected statuses',
      api.responses,
      api.broken.length,
      api.unexpected.length,
    ],
    ['connections refused; reset before they were accepted', api.refused, api.notAccepted],
    [
      'live streams opened, refused with 503, broken; records, missing events',
      stream.opened,
      stream.unavailable,
      stream.broken,
      stream.records,
      record.notStreamed.length,
    ],
    ['log lines: errors, warnings', logs.errors.length, logs.warnings.length],
  ];
  if (stalls) {
    counts.push([
      'queue events seen, unseen; stalled jobs',
      stalls.seen,
      stalls.unseen,
      stalls.stalled.length,
    ]);
  }
  return counts.map(([what, ...all]) => [what, all.map((count) => count.toLocaleString('en-US')).join(', ')]);
}

function say(line: string): void {
  process.stdout.write(`${line}\n`);
}
