import type { Teardown } from '@tocsin/embedded/program/teardown';
import { ensureRedisForTests } from '@tocsin/embedded/test-run/programs';
import { runCommand, say } from '@tocsin/lab/command';
import { flag, number, type ValuesOf } from '@tocsin/lab/options';
import { falseAlerts, outagesOf } from '@tocsin/lab/oracle/outages';
import { AGENT_CUT_KINDS, CUT_KINDS, type NetworkRecord, type Span } from '@tocsin/lab/oracle/record';
import { findNamespaceProblem } from '@tocsin/lab/world/namespaces';
import { conclude, describeTimes, sum, type Row } from '../report.ts';
import { planNetworks } from './plan.ts';
import { runNetworks } from './run-networks.ts';

const ABOUT = `Cuts regions off from the internet, with a checker in a network namespace for each, and looks for false and lost alerts
(docs/reliability.md). Needs Linux, and root or the capabilities to create network namespaces. Otherwise it exits with 2.`;
const OPTIONS = {
  seed: number('seed of all random choices', 1, { min: 1, max: 2 ** 31 }),
  cuts: number('cuts, of all regions together', 100, { min: 3, max: 10_000 }),
  'max-cut': number('longest cut in seconds', 90, { min: 6, max: 600 }),
  targets: number('targets, besides those of the canaries', 500, { min: 16, max: 5_000 }),
  agents: flag('lets two agents probe in each of two regions, and kills them and their gateways'),
  'without-canaries': flag('shows the false alerts of regions without canaries'),
  keep: flag('keeps the logs and the record, not only of a campaign with violations'),
};
const EXIT_NOT_PERMITTED = 2;

/** Implements `npm run test:campaigns -- networks`. @public called by `bootstrap.js` */
export async function main(args: readonly string[]): Promise<void> {
  await runCommand(args, { name: 'test:campaigns -- networks', about: ABOUT, options: OPTIONS, run });
}

async function run(values: ValuesOf<typeof OPTIONS>, teardown: Teardown): Promise<number> {
  const { seed, cuts, targets, agents, keep, 'max-cut': maxCut } = values;
  const withoutCanaries = values['without-canaries'];
  const problem = await findNamespaceProblem();
  if (problem !== null) {
    say(`Skipped: this machine does not permit network namespaces: ${problem}`);
    return EXIT_NOT_PERMITTED;
  }
  ensureRedisForTests(say);
  const plan = planNetworks({ seed, cuts, targets, maxCutMs: maxCut * 1_000, hasAgents: agents });
  const { record, logs } = await runNetworks(plan, !withoutCanaries, teardown);
  const options = `--seed ${seed} --cuts ${cuts} --max-cut ${maxCut} --targets ${targets}`;
  const flags = `${agents ? ' --agents' : ''}${withoutCanaries ? ' --without-canaries' : ''}`;
  const command = `networks ${options}${flags}`;
  return conclude({ record, logs, rows: rowsOf(record), keep, command });
}

function rowsOf(record: NetworkRecord): Row[] {
  const { losses, isolations, longestStallMs, agents } = record;
  const { cuts, kills } = agents ?? record;
  const kinds = agents === null ? CUT_KINDS : AGENT_CUT_KINDS;
  const outages = outagesOf(record);
  const due = outages.filter(({ dueAt }) => dueAt !== Infinity);
  const delays = due.flatMap(({ outage, downAt }) => (downAt === undefined ? [] : [downAt - outage.from]));
  const kindCounts = kinds.map((kind) => cuts.filter((cut) => cut.kind === kind).length);
  return [
    [`cuts: ${kinds.join(', ')}; s`, kindCounts.join(', '), secondsOf(cuts)],
    ['lossy links, s; kills of checkers, agents and gateways', secondsOf(losses), kills.length],
    ['isolations; inconclusive checks', isolations.length, inconclusiveOf(record)],
    ['false alerts', falseAlerts(record).length],
    ['outages; due; detected of these', outages.length, due.length, delays.length],
    ['from the start of an outage until DOWN', describeTimes(delays)],
    ['longest stall of this process, ms', longestStallMs],
  ];
}

function inconclusiveOf({ database }: NetworkRecord): number {
  return database.events.filter(({ inconclusive }) => inconclusive).length;
}

function secondsOf(spans: readonly Span[]): number {
  return Math.round(sum(spans.map(({ from, until }) => until - from)) / 1_000);
}
