import { setTimeout as wait } from 'node:timers/promises';
import { distributionOf } from '@tocsin/bench/measure/percentiles';
import type { Teardown } from '@tocsin/embedded/program/teardown';
import { runCommand, say } from '@tocsin/lab/command';
import { number, type ValuesOf } from '@tocsin/lab/options';
import { Random } from '@tocsin/lab/random';
import { SERVICE_NAMES } from '@tocsin/lab/service-process';
import { finishLoad, type LoadRecord } from './load/load-record.ts';
import { reportLoad } from './load/report.ts';
import { checkerNames, LOAD_OPTIONS, startLoad, stopService, type Load } from './load/start-load.ts';
import { markdownTable } from './report.ts';

const OPTIONS = {
  times: number('restarts of each service', 100, { min: 1, max: 10_000 }),
  checkers: number('checkers, restarted in turn', 2, { min: 1, max: 10 }),
  ...LOAD_OPTIONS,
};

const ABOUT = `Restarts each service by SIGTERM while a whole system is under load, and compares the records of its targets, Postgres,
the webhook receiver and its clients (docs/reliability.md).`;
/** Between two restarts. */
const MAX_PAUSE_MS = 1_000;
const REPORT_EVERY = 10;
const CREATED_PER_SECOND = 2;

/**
 * `npm run test:campaigns -- restarts`: whether a restart loses, repeats or breaks anything.
 * @public called by `bootstrap.js`
 */
export async function main(args: readonly string[]): Promise<void> {
  await runCommand(args, { name: 'test:campaigns -- restarts', about: ABOUT, options: OPTIONS, run });
}

async function run(options: ValuesOf<typeof OPTIONS>, teardown: Teardown): Promise<number> {
  const loadOptions = { ...options, createdPerSecond: CREATED_PER_SECOND, findsStalls: true };
  const load = await startLoad(loadOptions, teardown);
  say('Restarting services under load …');
  await restartServices(load, options.times);
  const record = await finishLoad(load);
  const verdict = 'Nothing was lost, repeated or broken.';
  return reportLoad(record, { table: tableOf(record), verdict, json: options.json });
}

async function restartServices(load: Load, times: number): Promise<void> {
  const random = new Random(load.options.seed, 'restarts');
  const checkers = checkerNames(load.options.checkers);
  for (let time = 0; time < times; time += 1) {
    for (const name of ['api', checkers[time % checkers.length] ?? '', 'notifier']) {
      await wait(random.next() * MAX_PAUSE_MS);
      await stopService(load, name, { restart: true });
    }
    if ((time + 1) % REPORT_EVERY === 0) say(`${time + 1} restarts of each service`);
  }
}

/** The restarts as a table in Markdown. */
export function tableOf({ stops }: Pick<LoadRecord, 'stops'>): string {
  const rows = SERVICE_NAMES.map((service) => {
    const own = stops.filter(({ name }) => name.startsWith(service));
    const clean = own.filter(({ exitCode }) => exitCode === 0).length;
    const stop = describeTimes(own.map(({ stopMs }) => stopMs));
    const start = describeTimes(own.flatMap(({ startMs }) => startMs ?? []));
    return [service, String(own.length), String(clean), stop, start];
  });
  return markdownTable(['service', 'restarts', 'exit code 0', 'stop p50, max', 'start p50, max'], rows);
}

function describeTimes(ms: readonly number[]): string {
  const { p50, max } = distributionOf(ms);
  return `${(p50 / 1_000).toFixed(2)}, ${(max / 1_000).toFixed(2)} s`;
}
