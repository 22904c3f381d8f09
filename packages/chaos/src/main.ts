import { writeFile } from 'node:fs/promises';
import { UsageError } from '@tocsin/embedded/program/run-program';
import { Teardown } from '@tocsin/embedded/program/teardown';
import { ensureRedisForTests } from '@tocsin/embedded/test-run/programs';
import { runCommand, say } from '@tocsin/lab/command';
import { flag, number, text, type ValuesOf } from '@tocsin/lab/options';
import { ensureLibfaketime } from './campaign/libfaketime.ts';
import { describeCampaign, describeSchedule, figuresOf, tableOf, type Figures } from './campaign/report.ts';
import { planCampaign, runCampaign } from './campaign/run-campaign.ts';
import { findViolations } from './oracle/find-violations.ts';
import type { FiredFault, Violation } from './oracle/record.ts';
import { keepRecord } from './report.ts';

const ABOUT =
  'Fires seeded faults at a system of its own, and looks for anything lost or leaked (docs/reliability.md).';
const MAX_SEED = 2 ** 31;
const MAX_SEEDS = 1_000;
const OPTIONS = {
  seed: number('seed of the schedule', null, { min: 1, max: MAX_SEED }),
  seeds: {
    about: 'one campaign for each of these seeds, and a table of them in Markdown',
    placeholder: 'N-M',
    defaultValue: null as readonly number[] | null,
    parse: (_: string, range: string): number[] => parseRange(range),
  },
  parallel: number('campaigns at the same time', 1, { min: 1, max: 8 }),
  minutes: number('length of a campaign in minutes', 3, { min: 1, max: 60 }),
  json: text('writes the results to a file', 'FILE'),
  keep: flag('keeps the logs and the record of each campaign, not only of those with violations'),
  'print-schedule': flag('shows the faults of each seed, and runs nothing'),
};
type Values = ValuesOf<typeof OPTIONS>;

/** @throws UsageError */
function parseRange(range: string): number[] {
  const [, from, to] = /^(\d+)-(\d+)$/.exec(range) ?? [];
  const [first, last] = [Number(from), Number(to)];
  if (!(first >= 1 && last >= first && last - first < MAX_SEEDS))
    throw new UsageError(`--seeds must be a range such as 1-30, not "${range}"`);
  return Array.from({ length: last - first + 1 }, (_, index) => first + index);
}

/** The seeds of the campaigns. @throws UsageError */
function seedsOf({ seed, seeds }: Pick<Values, 'seed' | 'seeds'>): readonly number[] {
  if (seed !== null && seeds !== null) throw new UsageError('Use either --seed or --seeds');
  return seeds ?? [seed ?? 1];
}

/** A campaign in the JSON file. */
interface CampaignResult {
  readonly figures: Figures;
  readonly faults: readonly FiredFault[];
  readonly violations: readonly Violation[];
}

/**
 * `npm run test:campaigns -- faults` (docs/reliability.md).
 * @public called by `bootstrap.js`
 */
export async function main(args: readonly string[]): Promise<void> {
  await runCommand(args, { name: 'test:campaigns -- faults', about: ABOUT, options: OPTIONS, run });
}

/** @returns the exit code */
async function run(values: Values, program: Teardown): Promise<number> {
  const seeds = seedsOf(values);
  const { minutes, parallel, json, keep } = values;
  if (values['print-schedule']) {
    for (const seed of seeds) say(`Seed ${seed}\n${describeSchedule(planCampaign(seed, minutes).faults)}`);
    return 0;
  }
  if (process.platform !== 'linux') throw new UsageError('Fault campaigns need Linux');
  ensureRedisForTests(say);
  const libfaketime = ensureLibfaketime(say);
  const waiting = [...seeds];
  const results: CampaignResult[] = [];
  const failed: number[] = [];
  const lane = async (): Promise<void> => {
    for (let seed = waiting.shift(); seed !== undefined; seed = waiting.shift()) {
      const prefix = seeds.length > 1 ? `[${seed}] ` : '';
      const report = (line: string): void => say(line.replaceAll(/^/gm, prefix));
      const teardown = new Teardown(program);
      try {
        const plan = planCampaign(seed, minutes);
        const { record, logs } = await runCampaign(plan, { libfaketime, teardown, say: report });
        const violations = findViolations(record);
        const figures = figuresOf(record, violations);
        report(describeCampaign(record, figures, violations));
        if (violations.length > 0 || keep)
          report(`Logs and record: ${await keepRecord(record, violations, logs)}`);
        results.push({ figures, faults: record.faults, violations });
        results.sort((one, other) => one.figures.seed - other.figures.seed);
        if (json !== null) await writeFile(json, `${JSON.stringify(results, null, 2)}\n`);
      } catch (error) {
        // The other seeds run all the same.
        failed.push(seed);
        report(`no result: ${error instanceof Error ? error.stack : String(error)}`);
      } finally {
        await teardown.run();
      }
    }
  };
  await Promise.all(Array.from({ length: parallel }, lane));
  if (failed.length > 0) throw new Error(`no result for seed ${failed.join(', ')}`);
  if (seeds.length > 1) say(tableOf(results.map(({ figures }) => figures)));
  return results.some(({ violations }) => violations.length > 0) ? 1 : 0;
}
