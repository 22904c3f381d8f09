import { cp, mkdir, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { Teardown } from '@tocsin/embedded/program/teardown';
import { findViolations } from '../oracle/find-violations.ts';
import type { CampaignRecord, FiredFault, Violation } from '../oracle/record.ts';
import { describeCampaign } from '../report/describe-campaign.ts';
import { type Figures, figuresOf } from '../report/figures.ts';
import { planCampaign, runCampaign } from './run-campaign.ts';

/** One campaign as the JSON file has it. */
export interface CampaignResult {
  readonly figures: Figures;
  readonly faults: readonly FiredFault[];
  readonly violations: readonly Violation[];
}

export interface RunOptions {
  readonly seeds: readonly number[];
  readonly minutes: number;
  readonly parallel: number;
  /** Whether logs and records are kept where there is no violation. */
  readonly keep: boolean;
  readonly libfaketime: string | null;
  readonly teardown: Teardown;
  readonly say: (line: string) => void;
  /** Called after each campaign with all results so far. */
  readonly onResult: (results: readonly CampaignResult[]) => Promise<void>;
}

/** Runs one campaign for each seed. @returns the results in the order of the seeds */
export async function runSeeds(options: RunOptions): Promise<CampaignResult[]> {
  const waiting = [...options.seeds];
  const results: CampaignResult[] = [];
  const broken: number[] = [];
  const lane = async (): Promise<void> => {
    for (let seed = waiting.shift(); seed !== undefined; seed = waiting.shift()) {
      try {
        results.push(await runSeed(options, seed));
      } catch (error) {
        // The others are run all the same.
        broken.push(seed);
        options.say(`[${seed}] came to no result: ${error instanceof Error ? error.stack : String(error)}`);
        continue;
      }
      results.sort((one, other) => one.figures.seed - other.figures.seed);
      await options.onResult(results);
    }
  };
  await Promise.all(Array.from({ length: options.parallel }, lane));
  if (broken.length > 0) throw new Error(`no result of seed ${broken.join(', ')}`);
  return results;
}

async function runSeed(options: RunOptions, seed: number): Promise<CampaignResult> {
  const { minutes, libfaketime } = options;
  const say = (line: string): void =>
    options.say(options.seeds.length > 1 ? line.replaceAll(/^/gm, `[${seed}] `) : line);
  const teardown = new Teardown(options.teardown);
  const results: CampaignResult[] = [];
  try {
    await runCampaign({
      plan: planCampaign(seed, minutes),
      libfaketime,
      teardown,
      say,
      onRecord: async (record, folder) => {
        const violations = findViolations(record);
        const figures = figuresOf(record, violations);
        say(describeCampaign(record, figures, violations));
        if (violations.length > 0 || options.keep) {
          say(`Logs and record: ${await keep(record, violations, folder)}`);
        }
        results.push({ figures, faults: record.faults, violations });
      },
    });
  } finally {
    await teardown.run();
  }
  const [result] = results;
  if (result === undefined) throw new Error(`the campaign of seed ${seed} came to no result`);
  return result;
}

/** Keeps what explains violations, or the lack of them. @returns where */
async function keep(
  record: CampaignRecord,
  violations: readonly Violation[],
  folder: string,
): Promise<string> {
  const name = violations.length > 0 ? 'failed-campaigns' : 'campaigns';
  const parent = resolve(process.env['DATA_DIR'] ?? '.data', name);
  const kept = join(
    parent,
    `seed-${record.seed}-${new Date(record.startedAt).toISOString().replaceAll(':', '-')}`,
  );
  await mkdir(kept, { recursive: true });
  await cp(join(folder, 'logs'), join(kept, 'logs'), { recursive: true });
  await writeFile(join(kept, 'record.json'), JSON.stringify({ violations, ...record }, asJson, 1));
  return kept;
}

function asJson(_: string, value: unknown): unknown {
  return value instanceof Map ? [...value] : value;
}
