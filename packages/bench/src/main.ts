import { writeFile } from 'node:fs/promises';
import { runProgram, UsageError } from '@tocsin/embedded/program/run-program';
import { Teardown } from '@tocsin/embedded/program/teardown';
import { say } from '@tocsin/lab/command';
import { alignRows, helpText, parseOptions } from '@tocsin/lab/options';
import { describeMachine } from './report/machine.ts';
import { tableOf } from './report/table.ts';
import { SCENARIOS } from './scenarios/catalogue.ts';
import { hasBars, OPTIONS, type Bench, type Options, type Scenario } from './scenarios/scenario.ts';

const ABOUT = `Measures how many checks Tocsin runs on this machine, and the cost of each (docs/performance.md).

Scenarios, or "all" for those of minutes, one after the other:
${alignRows(SCENARIOS.map(({ name, about }) => [name, about]))}

With one of the first six options, no bars are shown, because they apply only to the unchanged scenario:`;

/**
 * `npm run bench`: how many checks Tocsin runs, and the cost of each (docs/performance.md).
 * @public called by `bootstrap.js`
 */
export async function main(args: readonly string[]): Promise<void> {
  await runProgram(async (teardown) => {
    const { scenario, options } = parseCommandLine(args);
    if (scenario === null) say(helpText('bench -- <scenario>', ABOUT, OPTIONS));
    else await run(scenario, options, teardown);
    return 0;
  });
}

/** @returns scenario null: show the help @throws UsageError */
function parseCommandLine(args: readonly string[]): { scenario: string | null; options: Options } {
  const given = args.map((arg) => (arg === '--profile' ? '--profile=checker' : arg));
  const { help, values, positionals } = parseOptions(given, OPTIONS);
  const [scenario = null, ...more] = positionals;
  if (more.length > 0) throw new UsageError(`Name one scenario only. Unexpected: ${more.join(', ')}`);
  return { scenario: help ? null : scenario, options: values };
}

async function run(scenario: string, options: Options, program: Teardown): Promise<void> {
  if (process.platform !== 'linux')
    throw new UsageError('Benchmarks need Linux: they read CPU time and memory from /proc');
  const scenarios = SCENARIOS.filter(({ name, isLong }) =>
    scenario === 'all' ? isLong !== true : name === scenario,
  );
  if (scenarios.length === 0) throw new UsageError(`Unknown scenario "${scenario}". See --help`);
  const machine = describeMachine();
  const results: object[] = [];
  for (const each of scenarios) {
    const teardown = new Teardown(program);
    say(`\n${each.name}: ${each.about}`);
    try {
      results.push(await measure(each, options, teardown));
    } finally {
      await teardown.run();
    }
    if (options.json !== null)
      await writeFile(options.json, `${JSON.stringify({ machine, results }, null, 2)}\n`);
  }
}

async function measure(
  { name, bars, run: runScenario }: Scenario,
  options: Options,
  teardown: Teardown,
): Promise<object> {
  const startedAt = new Date().toISOString();
  const given = Object.entries(options).filter(([, value]) => value !== null);
  const measured = await runScenario({
    options: Object.fromEntries(given) as Bench['options'],
    teardown,
    say: (line) => say(`  ${line}`),
  });
  const figures = measured.figures.map((figure) => {
    const bar = hasBars(options) ? bars[figure.key] : undefined;
    return bar === undefined ? figure : { ...figure, bar };
  });
  const settings = Object.entries(measured.settings).map((setting) => setting.join(' '));
  say(`\n  ${settings.join(', ')}\n${tableOf(figures)}`);
  for (const note of measured.notes ?? []) say(note);
  return { scenario: name, startedAt, ...measured, figures };
}
