import { writeFile } from 'node:fs/promises';
import { runProgram, UsageError } from '@tocsin/embedded/program/run-program';
import { Teardown } from '@tocsin/embedded/program/teardown';
import { say } from '@tocsin/lab/command';
import { alignRows, helpText, parseOptions } from '@tocsin/lab/options';
import { figure, type Figure } from './report/figure.ts';
import { describeMachine } from './report/machine.ts';
import { tableOf } from './report/table.ts';
import { SCENARIOS } from './scenarios/catalogue.ts';
import { hasBars, OPTIONS, type Bench, type Options, type Scenario } from './scenarios/scenario.ts';

const ABOUT = `Measures how many checks Tocsin runs on this machine, and the cost of each (docs/performance.md).

Scenarios, or "all" for those of minutes, one after the other:
${alignRows(SCENARIOS.map(({ name, about }) => [name, about]))}

With one of the first eight options, no bars are shown, because they apply only to the unchanged scenario:`;

/**
 * `npm run bench`: measures how many checks Tocsin runs, and the cost of each (docs/performance.md).
 * @public called by `bootstrap.js`
 */
export async function main(args: readonly string[]): Promise<void> {
  await runProgram(async (program) => {
    const { help, values, positionals } = parseOptions(args, OPTIONS);
    const [scenario, ...more] = positionals;
    if (more.length > 0) throw new UsageError(`Name one scenario only. Unexpected: ${more.join(', ')}`);
    if (help || scenario === undefined) say(helpText('bench -- <scenario>', ABOUT, OPTIONS));
    else await run(scenario, values, program);
    return 0;
  });
}

/** @throws UsageError */
async function run(scenario: string, options: Options, program: Teardown): Promise<void> {
  if (process.platform !== 'linux')
    throw new UsageError('Benchmarks need Linux, because they read CPU time and memory from /proc');
  const scenarios = SCENARIOS.filter(({ name, isLong }) =>
    scenario === 'all' ? isLong !== true : name === scenario,
  );
  if (scenarios.length === 0) throw new UsageError(`Unknown scenario "${scenario}". See --help`);
  const machine = describeMachine();
  const results: object[] = [];
  for (const each of scenarios) {
    const teardown = new Teardown(program);
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
  { name, about, run: runScenario }: Scenario,
  options: Options,
  teardown: Teardown,
): Promise<object> {
  say(`\n${name}: ${about}`);
  const startedAt = new Date().toISOString();
  const given = Object.entries(options).filter(([, value]) => value !== null);
  const measured = await runScenario({
    options: Object.fromEntries(given) as Bench['options'],
    teardown,
    say: (line) => say(`  ${line}`),
  });
  const figures = hasBars(options) ? measured.figures : measured.figures.map(withoutBar);
  const settings = Object.entries(measured.settings).map((setting) => setting.join(' '));
  say(`\n  ${settings.join(', ')}\n${tableOf(figures)}`);
  for (const note of measured.notes ?? []) say(`  ${note}`);
  return { scenario: name, startedAt, ...measured, figures };
}

function withoutBar({ key, label, value, unit }: Figure): Figure {
  return figure(key, label, value, unit);
}
