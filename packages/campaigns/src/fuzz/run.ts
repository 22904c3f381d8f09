import * as fc from 'fast-check';
import { Finding } from './responses.ts';
import { plans, type Plan } from './plan.ts';
import type { FuzzSystem } from './fuzz-system.ts';
import { Lane } from './lane.ts';
import type { Tally } from './tally.ts';

export interface CampaignOptions {
  readonly requests: number;
  readonly seconds: number;
  readonly seed: number;
  readonly lanes: number;
  /** The single run to repeat, as the report of a failure names it, or null. */
  readonly path: string | null;
}

const MAX_SEQUENCE = 40;
const RUNS_PER_SEED = 25;
const SHRINK_WITHIN_MS = 180_000;
const sequences = fc.array(plans, { minLength: 1, maxLength: MAX_SEQUENCE, size: 'max' });

/**
 * Sends requests in several lanes, each with its own seeds.
 * @returns the failures, each with the command that repeats it
 */
export async function runCampaign(
  system: FuzzSystem,
  tally: Tally,
  options: CampaignOptions,
): Promise<string[]> {
  const { requests, seed, path } = options;
  const lanes = path === null ? options.lanes : 1;
  const failures = await Promise.all(
    Array.from({ length: lanes }, (_, lane) =>
      runLane(system, tally, { ...options, seed: seed + lane * 100_003, requests: requests / lanes }),
    ),
  );
  const errors = (await system.newErrors()).map((line) => `the api logged an error: ${line.slice(0, 2_000)}`);
  return [...new Set(failures.flat()), ...tally.neverSucceeded(), ...errors];
}

/** @returns the first failure, shrunk, or nothing */
async function runLane(system: FuzzSystem, tally: Tally, options: CampaignOptions): Promise<string[]> {
  const lane = await Lane.open(system, tally);
  const deadline = performance.now() + options.seconds * 1_000;
  let { seed, requests } = options;
  // fast-check abandons a run at its time limit, but the run still uses the account.
  let last: Promise<void> = Promise.resolve();
  const property = fc.asyncProperty(sequences, async (sequence: readonly Plan[]) => {
    await last;
    if (performance.now() > deadline) return;
    requests -= sequence.length;
    const run = lane.run(sequence);
    last = run.catch(() => undefined);
    await run;
  });
  try {
    for (; ; seed += 1) {
      const details = await fc.check(property, {
        seed,
        numRuns: RUNS_PER_SEED,
        interruptAfterTimeLimit: SHRINK_WITHIN_MS,
        ...(options.path !== null && { path: options.path, endOnFailure: true }),
      });
      if (details.failed) return [describeFailure(details, seed)];
      if (requests <= 0 || performance.now() > deadline || options.path !== null) return [];
    }
  } finally {
    lane.close();
  }
}

function describeFailure(details: fc.RunDetails<[readonly Plan[]]>, seed: number): string {
  const error = details.errorInstance;
  return [
    error instanceof Finding ? error.message : String((error as Error | null)?.stack ?? error),
    `  smallest: ${JSON.stringify(details.counterexample?.[0])}`,
    `  repeat: npm run test:campaigns -- fuzz --seed ${seed} --path ${details.counterexamplePath}`,
  ].join('\n');
}
