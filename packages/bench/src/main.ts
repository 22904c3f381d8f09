import { writeFile } from 'node:fs/promises';
import { runProgram, UsageError } from '@tocsin/embedded/program/run-program';
import { Teardown } from '@tocsin/embedded/program/teardown';
import { say } from '@tocsin/lab/command';
import { alignRows, helpText, parseOptions } from '@tocsin/lab/options';
import type { Figure } from './report/figure.ts';
import { describeMachine } from './report/machine.ts';
import { tableOf } from './report/table.ts';
import { SCENARIOS } from './scenarios/catalogue.ts';
import { OPTIONS, type Measurement, type Options, type Scenario } from './scenarios/scenario.ts';

interface Result extends Measurement {
  readonly scenario: string;
  readonly startedAt: string;
}

/**
 * `npm run bench`: how many checks Tocsin does, and the cost of each (docs/performance.md).
 * @public called by `bootstrap.js`
 */
export async function main(args: readonly string[]): Promise<void> {
  await runProgram(async (teardown) => {
    const { scenario, options } = parseCommandLine(args);
    if (scenario === null) say(help());
    else await run(scenario, options, teardown);
    return 0;
  });
}

/** @returns scenario null: help is wanted @throws UsageError */
export function parseCommandLine(args: readonly string[]): { scenario: string | null; options: Options } {
  const given = args.map((arg) => (arg === '--profile' ? '--profile=checker' : arg));
  const { help, values, positionals } = parseOptions(given, OPTIONS);
  const [scenario = null, ...more] = positionals;
  if (more.length > 0) throw new UsageError(`One scenario at a time, not also ${more.join(', ')}`);
  return { scenario: help ? null : scenario, options: values };
}

function help(): string {
  const about = `How many checks Tocsin does on this machine, and the cost of each (docs/performance.md).

Scenarios, or "all" for one after the other:
${alignRows(SCENARIOS.map(({ name, about }) => [name, about]))}

With one of the first six options, bars are not shown, since they hold for the scenario as it is:`;
  return helpText('bench -- <scenario>', about, OPTIONS);
}

async function run(wanted: string, options: Options, program: Teardown): Promise<void> {
  if (process.platform !== 'linux')
    throw new UsageError('CPU and memory are read from /proc: this needs Linux');
  const scenarios = wanted === 'all' ? SCENARIOS : SCENARIOS.filter(({ name }) => name === wanted);
  if (scenarios.length === 0) throw new UsageError(`There is no scenario "${wanted}": see --help`);
  const machine = describeMachine();
  const results: Result[] = [];
  for (const scenario of scenarios) {
    const teardown = new Teardown(program);
    say(`\n${scenario.name}: ${scenario.about}`);
    try {
      results.push(await measure(scenario, options, teardown));
    } finally {
      await teardown.run();
    }
    if (options.json !== null)
      await writeFile(options.json, `${JSON.stringify({ machine, results }, null, 2)}\n`);
  }
}

async function measure(scenario: Scenario, options: Options, teardown: Teardown): Promise<Result> {
  const startedAt = new Date().toISOString();
  const { profile } = options;
  const measured = await scenario.run({ options, profile, teardown, say: (line) => say(`  ${line}`) });
  const { seconds: _, events: __, json: ___, ...load } = options;
  const hasBars = Object.values(load).every((value) => value === null);
  const figures = measured.figures.map((figure): Figure => {
    const bar = scenario.bars[figure.key];
    return hasBars && bar !== undefined ? { ...figure, bar } : figure;
  });
  const settings = Object.entries(measured.settings).map(([name, value]) => `${name} ${value}`);
  say(`\n  ${settings.join(', ')}\n${tableOf(figures)}`);
  for (const note of measured.notes ?? []) say(note);
  return { scenario: scenario.name, startedAt, ...measured, figures };
}
