import { writeFile } from 'node:fs/promises';
import { setTimeout as wait } from 'node:timers/promises';
import { runProgram } from '@tocsin/embedded/program/run-program';
import type { Teardown } from '@tocsin/embedded/program/teardown';
import { Random } from '../../plan/random.ts';
import { settle, untilCheckedSince } from '../load/settle.ts';
import { keepMoreEvents, StallWatch } from '../load/stall-watch.ts';
import { stopService } from '../load/stop-service.ts';
import { checkerNames, SystemLoad } from '../load/system-load.ts';
import { helpText, parseCommandLine } from '../options.ts';
import { judge } from '../oracle/judge.ts';
import { readHistories } from '../oracle/read-history.ts';
import { readLogs } from '../oracle/read-logs.ts';
import { readEnds } from '../oracle/read.ts';
import { evidenceOf, faultsOf, type RestartReport, tableOf } from './report.ts';
import { type Restart, restartService } from './restart-service.ts';

const OPTIONS = {
  times: { about: 'restarts of each service', usual: 100, least: 1, most: 10_000 },
  rate: { about: 'checks a second', usual: 300, least: 10, most: 2_000 },
  interval: { about: 'of each monitor, seconds', usual: 5, least: 5, most: 300 },
  checkers: { about: 'checkers, restarted in turn', usual: 2, least: 1, most: 10 },
  seed: { about: 'of what happens at random', usual: 1, least: 1, most: 2 ** 31 },
} as const;
type Numbers = Readonly<Record<keyof typeof OPTIONS, number>>;

const ABOUT = `Restarts each service by SIGTERM while a whole system is under load, and compares what its targets, Postgres,
the webhook receiver and its clients saw (docs/reliability.md).`;
/** Between two restarts, at most. */
const PAUSE_MS = 1_000;
const TELL_EVERY = 10;

/**
 * `npm run test:restarts`: whether a restart loses, repeats or breaks anything.
 * @public called by `bootstrap.js`
 */
export async function main(args: readonly string[]): Promise<void> {
  await runProgram(async (teardown) => {
    const { help, numbers, json } = parseCommandLine(args, OPTIONS);
    if (help) {
      say(helpText('test:restarts', ABOUT, OPTIONS));
      return 0;
    }
    const report = await run(numbers, teardown);
    if (json !== null) await writeFile(json, `${JSON.stringify(report, null, 2)}\n`);
    say(`\n${tableOf(report)}\n`);
    const faults = faultsOf(report);
    for (const line of evidenceOf(report)) say(`  ${line}`);
    say(
      faults.length === 0 ? 'Nothing was lost, repeated or broken.' : `NOT IN ORDER: ${faults.join('; ')}.`,
    );
    return faults.length === 0 ? 0 : 1;
  });
}

async function run({ times, checkers, ...numbers }: Numbers, teardown: Teardown): Promise<RestartReport> {
  const load = await SystemLoad.start({ ...numbers, checkers, createdPerSecond: 2 }, teardown, say);
  const { redis } = load.lab;
  if (redis === null) throw new Error('the queue is not on Redis');
  await keepMoreEvents(redis);
  const watch = await teardown.start(StallWatch.start(redis), async (one) => one.abandon());
  await load.stream.ready;
  say('Under load; restarting …');
  const from = Date.now();
  const stops = await restartAll(load, times, checkers);
  const to = Date.now();
  await untilCheckedSince(load, to);
  await load.clients.stop();
  // The last stop of each is one as well; the notifier is needed until all webhooks are delivered.
  const stopLast = async (name: string): Promise<void> => {
    stops.push({ name, ...(await stopService(load, name)), startMs: null });
  };
  for (const name of checkerNames(checkers)) await stopLast(name);
  await settle(load);
  const stalls = await watch.stop();
  await load.stream.stop();
  for (const name of ['notifier', 'api']) await stopLast(name);
  const logFiles = [...load.services.values()].map(({ logFile }) => logFile);
  const findings = judge(await readEnds(load, { from, to }));
  return {
    seed: numbers.seed,
    seconds: (to - from) / 1_000,
    stops,
    stalls,
    findings,
    histories: await readHistories(load, findings),
    api: load.clients.tally,
    stream: load.stream.tally,
    logs: await readLogs(logFiles),
  };
}

async function restartAll(load: SystemLoad, times: number, checkers: number): Promise<Restart[]> {
  const random = new Random(load.options.seed, 'restarts');
  const names = checkerNames(checkers);
  const restarts: Restart[] = [];
  for (let time = 0; time < times; time += 1) {
    for (const name of ['api', names[time % names.length] ?? '', 'notifier']) {
      await wait(random.next() * PAUSE_MS);
      restarts.push(await restartService(load, name));
    }
    if ((time + 1) % TELL_EVERY === 0) say(`${time + 1} restarts of each service`);
  }
  return restarts;
}

function say(line: string): void {
  process.stdout.write(`${line}\n`);
}
