import { writeFile } from 'node:fs/promises';
import { runProgram, UsageError } from '@tocsin/embedded/program/run-program';
import { Teardown } from '@tocsin/embedded/program/teardown';
import { type CommandLine, parseCommandLine } from './options.ts';
import type { Figure } from './report/figure.ts';
import { helpText } from './report/help.ts';
import { describeMachine } from './report/machine.ts';
import { tableOf } from './report/table.ts';
import { SCENARIOS } from './scenarios/catalogue.ts';
import type { Measurement, Scenario } from './scenarios/scenario.ts';

interface Result extends Measurement {
  readonly scenario: string;
  readonly startedAt: string;
}

/**
 * `npm run bench`: how many checks Tocsin does and what each costs (docs/performance.md).
 * @public called by `bootstrap.js`
 */
export async function main(args: readonly string[]): Promise<void> {
  await runProgram(async (teardown) => {
    await run(parseCommandLine(args), teardown);
    return 0;
  });
}

async function run(commandLine: CommandLine, all: Teardown): Promise<void> {
  const { scenario: wanted, json } = commandLine;
  if (wanted === null) return say(helpText(SCENARIOS));
  if (process.platform !== 'linux')
    throw new UsageError('CPU and memory are read from /proc: this needs Linux');
  const scenarios = wanted === 'all' ? SCENARIOS : SCENARIOS.filter(({ name }) => name === wanted);
  if (scenarios.length === 0) throw new UsageError(`There is no scenario "${wanted}": see --help`);
  const machine = describeMachine();
  const results: Result[] = [];
  for (const scenario of scenarios) {
    const teardown = new Teardown(all);
    say(`\n${scenario.name}: ${scenario.about}`);
    try {
      results.push(await measure(scenario, commandLine, teardown));
    } finally {
      await teardown.run();
    }
    if (json !== null) await writeFile(json, `${JSON.stringify({ machine, results }, null, 2)}\n`);
  }
}

async function measure(scenario: Scenario, commandLine: CommandLine, teardown: Teardown): Promise<Result> {
  const { options, profile } = commandLine;
  const startedAt = new Date().toISOString();
  const measured = await scenario.run({ options, profile, teardown, say: (line) => say(`  ${line}`) });
  const { seconds: _, events: __, ...load } = options;
  const usual = profile === null && Object.values(load).every((value) => value === undefined);
  const figures = measured.figures.map((figure): Figure => {
    const bar = scenario.bars[figure.key];
    return usual && bar !== undefined ? { ...figure, bar } : figure;
  });
  const settings = Object.entries(measured.settings).map(([name, value]) => `${name} ${value}`);
  say(`\n  ${settings.join(', ')}\n${tableOf(figures)}`);
  for (const note of measured.notes ?? []) say(note);
  return { scenario: scenario.name, startedAt, ...measured, figures };
}

function say(line: string): void {
  process.stdout.write(`${line}\n`);
}
