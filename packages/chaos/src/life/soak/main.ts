import { writeFile } from 'node:fs/promises';
import { setTimeout as wait } from 'node:timers/promises';
import { runProgram } from '@tocsin/embedded/program/run-program';
import type { Teardown } from '@tocsin/embedded/program/teardown';
import { settle, untilCheckedSince } from '../load/settle.ts';
import { stopService } from '../load/stop-service.ts';
import { checkerNames, SystemLoad } from '../load/system-load.ts';
import { helpText, parseCommandLine } from '../options.ts';
import { judge } from '../oracle/judge.ts';
import { readLogs } from '../oracle/read-logs.ts';
import { readEnds } from '../oracle/read.ts';
import { evidenceOf, type LoadReport } from '../report.ts';
import { faultsOf, SHORTEST_MINUTES, type SoakReport, tableOf, trendsOf } from './report.ts';
import { type Sample, takeSample } from './sample.ts';

const OPTIONS = {
  minutes: { about: 'how long', usual: 30, least: 0.05, most: 10_000, fraction: true },
  rate: { about: 'checks a second', usual: 300, least: 10, most: 2_000 },
  interval: { about: 'of each monitor, seconds', usual: 5, least: 5, most: 300 },
  checkers: { about: 'checkers', usual: 1, least: 1, most: 10 },
  seed: { about: 'of what happens at random', usual: 1, least: 1, most: 2 ** 31 },
} as const;
type Numbers = Readonly<Record<keyof typeof OPTIONS, number>>;

const ABOUT = `Keeps a whole system under a steady load and watches memory, connections and open files of every process
(docs/reliability.md). Under ${SHORTEST_MINUTES} minutes it gives figures and no verdict on them.`;
const SAMPLES_APART_MS = 5_000;
/** Each so many samples have what heaps keep. */
const HEAPS_EVERY = 12;
/** The built one: services are run from what was built. */
const COLLECT_WHEN_ASKED = new URL('../../../dist/life/soak/collect-when-asked.js', import.meta.url).href;
/** So many that 1 KB kept of each would go beyond what counts as flat. */
const CREATED_PER_SECOND = 5;

/**
 * `npm run test:soak`: whether anything grows that should not.
 * @public called by `bootstrap.js`
 */
export async function main(args: readonly string[]): Promise<void> {
  await runProgram(async (teardown) => {
    const { help, numbers, json } = parseCommandLine(args, OPTIONS);
    if (help) {
      say(helpText('test:soak', ABOUT, OPTIONS));
      return 0;
    }
    const { report, samples } = await run(numbers, teardown);
    const written = {
      ...report,
      samples: samples.map(([at, sample]) => ({ at, values: Object.fromEntries(sample) })),
    };
    if (json !== null) await writeFile(json, `${JSON.stringify(written)}\n`);
    say(`\n${tableOf(report)}\n`);
    const faults = faultsOf(report);
    for (const line of evidenceOf(report)) say(`  ${line}`);
    say(faults.length === 0 ? 'Nothing grows, and nothing was lost.' : `NOT IN ORDER: ${faults.join('; ')}.`);
    return faults.length === 0 ? 0 : 1;
  });
}

async function run(
  { minutes, ...numbers }: Numbers,
  teardown: Teardown,
): Promise<{ report: SoakReport; samples: [number, Sample][] }> {
  const nodeOptions = ['--expose-gc', '--import', COLLECT_WHEN_ASKED];
  const options = { ...numbers, createdPerSecond: CREATED_PER_SECOND, nodeOptions };
  const load = await SystemLoad.start(options, teardown, say);
  await load.stream.ready;
  say('Under load; watching …');
  const from = Date.now();
  const samples = await sampleFor(load, minutes * 60_000);
  const to = Date.now();
  await untilCheckedSince(load, to);
  await load.clients.stop();
  const stops: LoadReport['stops'][number][] = [];
  const stop = async (name: string): Promise<void> => {
    stops.push({ name, ...(await stopService(load, name)) });
  };
  for (const name of checkerNames(numbers.checkers)) await stop(name);
  await settle(load);
  await load.stream.stop();
  const logFiles = [...load.services.values()].map(({ logFile }) => logFile);
  for (const name of ['notifier', 'api']) await stop(name);
  const report = {
    seed: numbers.seed,
    minutes,
    stops,
    trends: trendsOf(samples),
    findings: judge(await readEnds(load, { from, to })),
    api: load.clients.tally,
    stream: load.stream.tally,
    logs: await readLogs(logFiles),
  };
  return { report, samples };
}

/** Samples of the time, with their moments. */
async function sampleFor(load: SystemLoad, forMs: number): Promise<[number, Sample][]> {
  const samples: [number, Sample][] = [];
  const startedAt = performance.now();
  const apartMs = Math.min(SAMPLES_APART_MS, forMs / 10);
  for (let next = 0; next <= forMs; next += apartMs) {
    await wait(Math.max(0, startedAt + next - performance.now()));
    const heaps = samples.length % HEAPS_EVERY === 0;
    samples.push([performance.now() - startedAt, await takeSample(load, heaps)]);
    if (samples.length % 60 === 0) say(`${Math.round(next / 60_000)} minutes`);
  }
  return samples;
}

function say(line: string): void {
  process.stdout.write(`${line}\n`);
}
