import { setTimeout as wait } from 'node:timers/promises';
import type { Teardown } from '@tocsin/embedded/program/teardown';
import { runCommand, say } from '@tocsin/lab/command';
import { number, type ValuesOf } from '@tocsin/lab/options';
import { finishLoad } from '../load/load-record.ts';
import { reportLoad } from '../load/report.ts';
import { LOAD_OPTIONS, startLoad, type Load } from '../load/start-load.ts';
import { describeTrends, growthViolations, MIN_MINUTES, trendsOf } from './report.ts';
import { takeSample, type Sample } from './sample.ts';

const OPTIONS = {
  minutes: number('duration', 30, { min: 0.05, max: 10_000, fraction: true }),
  checkers: number('checkers', 1, { min: 1, max: 10 }),
  ...LOAD_OPTIONS,
};

const ABOUT = `Keeps a whole system under a steady load and watches memory, connections and open files of every process
(docs/reliability.md). Runs of less than ${MIN_MINUTES} minutes have no verdict.`;
const SAMPLE_EVERY_MS = 5_000;
/** Heaps are measured in every twelfth sample. */
const HEAPS_EVERY = 12;
/** The compiled file, because services run compiled code. */
const COLLECT_GARBAGE = new URL('../../dist/soak/collect-garbage.js', import.meta.url).href;
/** So many that a leak of 1 KB for each would not count as flat. */
const CREATED_PER_SECOND = 5;

/**
 * `npm run test:campaigns -- soak`: whether anything grows that should not.
 * @public called by `bootstrap.js`
 */
export async function main(args: readonly string[]): Promise<void> {
  await runCommand(args, { name: 'test:campaigns -- soak', about: ABOUT, options: OPTIONS, run });
}

async function run(
  { minutes, json, ...options }: ValuesOf<typeof OPTIONS>,
  teardown: Teardown,
): Promise<number> {
  const nodeOptions = ['--expose-gc', '--import', COLLECT_GARBAGE];
  const loadOptions = { ...options, createdPerSecond: CREATED_PER_SECOND, nodeOptions };
  const load = await startLoad(loadOptions, teardown);
  say('Measuring under load …');
  const samples = await sampleFor(load, minutes * 60_000);
  const record = await finishLoad(load);
  const trends = trendsOf(samples);
  const raw = samples.map(([at, sample]) => ({ at, values: Object.fromEntries(sample) }));
  return reportLoad(record, {
    violations: growthViolations(minutes, trends, record.stream),
    table: describeTrends(minutes, trends),
    more: { trends, samples: raw },
    verdict: 'Nothing grows, and nothing was lost.',
    json,
  });
}

/** Samples with the times at which they were taken. */
async function sampleFor(load: Load, forMs: number): Promise<[number, Sample][]> {
  const samples: [number, Sample][] = [];
  const startedAt = performance.now();
  const everyMs = Math.min(SAMPLE_EVERY_MS, forMs / 10);
  for (let next = 0; next <= forMs; next += everyMs) {
    await wait(Math.max(0, startedAt + next - performance.now()));
    const heaps = samples.length % HEAPS_EVERY === 0;
    samples.push([performance.now() - startedAt, await takeSample(load, heaps)]);
    if (samples.length % 60 === 0) say(`${Math.round(next / 60_000)} minutes`);
  }
  return samples;
}
