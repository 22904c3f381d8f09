import type { Teardown } from '@tocsin/embedded/program/teardown';
import { ensureRedisForTests } from '@tocsin/embedded/test-run/programs';
import { runCommand, say } from '@tocsin/lab/command';
import { flag, number, type ValuesOf } from '@tocsin/lab/options';
import { keepRecord } from '../report.ts';
import { runNetworks } from './campaign.ts';
import { findNetworkViolations } from './find-violations.ts';
import { findNamespaceProblem } from './namespaces.ts';
import { planNetworks } from './plan.ts';
import { describeNetworks } from './report.ts';

const ABOUT = `Cuts regions off from the internet, with a checker in a network namespace for each, and looks for false and lost alerts
(docs/reliability.md). Needs Linux, and root or the capabilities to create network namespaces; otherwise it exits with 2.`;
const OPTIONS = {
  seed: number('seed of all random choices', 1, { min: 1, max: 2 ** 31 }),
  cuts: number('cuts, of all regions together', 100, { min: 3, max: 10_000 }),
  'max-cut': number('longest cut in seconds', 90, { min: 6, max: 600 }),
  targets: number('targets, besides those of the canaries', 500, { min: 16, max: 5_000 }),
  'without-canaries': flag('shows the false alerts of regions without canaries'),
  keep: flag('keeps the logs and the record, not only of a campaign with violations'),
};
const EXIT_NOT_PERMITTED = 2;

/**
 * `npm run test:campaigns -- networks` (docs/reliability.md).
 * @public called by `bootstrap.js`
 */
export async function main(args: readonly string[]): Promise<void> {
  await runCommand(args, { name: 'test:campaigns -- networks', about: ABOUT, options: OPTIONS, run });
}

/** @returns the exit code */
async function run(values: ValuesOf<typeof OPTIONS>, teardown: Teardown): Promise<number> {
  const { seed, cuts, targets, keep } = values;
  const problem = await findNamespaceProblem();
  if (problem !== null) {
    say(`Skipped: this machine does not permit network namespaces: ${problem}`);
    return EXIT_NOT_PERMITTED;
  }
  ensureRedisForTests(say);
  const plan = planNetworks({ seed, cuts, targets, maxCutMs: values['max-cut'] * 1_000 });
  const hasCanaries = !values['without-canaries'];
  const { record, logs } = await runNetworks(plan, { hasCanaries, teardown, say });
  const violations = findNetworkViolations(record);
  say(`\n${describeNetworks(record, violations)}\n`);
  if (violations.length > 0 || keep) say(`Logs and record: ${await keepRecord(record, violations, logs)}`);
  if (violations.length === 0) {
    say('No false alert, and no outage was lost.');
    return 0;
  }
  const settings = `--seed ${seed} --cuts ${cuts} --max-cut ${values['max-cut']} --targets ${targets}`;
  say(
    `To repeat it: npm run test:campaigns -- networks ${settings}${hasCanaries ? '' : ' --without-canaries'}`,
  );
  return 1;
}
