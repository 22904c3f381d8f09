import * as fc from 'fast-check';
import { Finding } from '../oracle/finding.ts';
import { plans, type Plan } from '../requests/plan.ts';
import type { FuzzSystem } from '../world/system.ts';
import { Lane } from './lane.ts';
import type { Tally } from './tally.ts';

export interface CampaignOptions {
  readonly requests: number;
  /** After this it ends, however many were made. */
  readonly seconds: number;
  readonly seed: number;
  /** Accounts that are asked for at the same time. */
  readonly lanes: number;
  /** Where the one run to be made is, as the message of a failure says; null: all of them. */
  readonly path: string | null;
  /** Whether to go on after a failure, and make none smaller. */
  readonly all: boolean;
}

/** Requests in a row, from a furnished account on. */
const MOST_IN_A_ROW = 40;
const RUNS_OF_A_SEED = 25;
/** Making a failure smaller ends after this. */
const SHRINK_WITHIN_MS = 180_000;
/** The beginning of a message tells one kind of failure from another. */
const KIND_CHARACTERS = 90;
const sequences = fc.array(plans, { minLength: 1, maxLength: MOST_IN_A_ROW, size: 'max' });

/**
 * Asks until as many requests are made, in several lanes at once, each with seeds of its own.
 * @returns what went wrong, with how to have it again
 */
export async function runCampaign(
  system: FuzzSystem,
  tally: Tally,
  options: CampaignOptions,
): Promise<string[]> {
  const { requests, seed, path } = options;
  const lanes = path === null ? options.lanes : 1;
  const findings = await Promise.all(
    Array.from({ length: lanes }, (_, lane) =>
      runLane(system, tally, { ...options, seed: seed + lane * 100_003, requests: requests / lanes }),
    ),
  );
  return [...new Set(findings.flat()), ...tally.neverWorked(), ...(await loggedErrors(system))];
}

/** @returns what went wrong: the first failure, made as small as it goes, or one of each kind */
async function runLane(system: FuzzSystem, tally: Tally, options: CampaignOptions): Promise<string[]> {
  const lane = await Lane.open(system, tally);
  let left = options.requests;
  const deadline = performance.now() + options.seconds * 1_000;
  // One that took too long, and that nobody waits for any more, still asks for the same account.
  let last: Promise<void> = Promise.resolve();
  let { seed } = options;
  const kinds = new Map<string, string>();
  const property = fc.asyncProperty(sequences, async (sequence: readonly Plan[]) => {
    await last;
    if (performance.now() > deadline) return;
    left -= sequence.length;
    const run = lane.run(sequence);
    last = run.catch(() => undefined);
    await run.catch((error: unknown) => {
      if (!options.all || !(error instanceof Finding)) throw error;
      kinds.set(error.message.slice(0, KIND_CHARACTERS), `${error.message}\n${again(seed)}`);
    });
  });
  try {
    for (; ; seed += 1) {
      const details = await fc.check(property, {
        seed,
        numRuns: RUNS_OF_A_SEED,
        ...(!options.all && { interruptAfterTimeLimit: SHRINK_WITHIN_MS }),
        ...(options.path !== null && { path: options.path, endOnFailure: true }),
      });
      if (details.failed) return [describe(details, seed)];
      if (left <= 0 || performance.now() > deadline || options.path !== null) break;
    }
    return [...kinds.values()];
  } finally {
    lane.close();
  }
}

function describe(
  { errorInstance, counterexample, counterexamplePath }: fc.RunDetails<[readonly Plan[]]>,
  seed: number,
): string {
  const why =
    errorInstance instanceof Finding
      ? errorInstance.message
      : String((errorInstance as Error | null)?.stack ?? errorInstance);
  return [
    why,
    `  smallest: ${JSON.stringify(counterexample?.[0])}`,
    `${again(seed)} --path ${counterexamplePath}`,
  ].join('\n');
}

function again(seed: number): string {
  return `  again: npm run test:fuzz -- --seed ${seed}`;
}

/** Whatever the api logs as an error is one. */
async function loggedErrors(system: FuzzSystem): Promise<string[]> {
  const lines = await system.newLogLines();
  return lines
    .filter(({ level }) => level === 'error')
    .map((line) => `the api logged an error: ${JSON.stringify(line).slice(0, 2_000)}`);
}
