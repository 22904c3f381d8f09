import * as fc from 'fast-check';
import { Finding } from '../oracle/responses.ts';
import { type Plan, plans } from '../requests/plan.ts';
import type { FuzzSystem } from '../system/system.ts';
import { Lane } from './lane.ts';

/** One request in ten works where the most is left to rules that no schema says. */
const ENOUGH = 60;

/** What was asked and answered. */
export class Tally {
  readonly #routes = new Map<string, Map<number, number>>();
  readonly #hopes = new Map<string, { asked: number; worked: number }>();
  requests = 0;
  slowestMs = 0;

  note(route: string, status: number, durationMs: number): void {
    this.requests += 1;
    this.slowestMs = Math.max(this.slowestMs, durationMs);
    const statuses = this.#routes.get(route) ?? new Map<number, number>();
    this.#routes.set(route, statuses);
    statuses.set(status, (statuses.get(status) ?? 0) + 1);
  }

  /** Of a request that nothing forbids as far as schema and model tell: whether it worked. */
  hope(route: string, worked: boolean): void {
    const hopes = this.#hopes.get(route) ?? { asked: 0, worked: 0 };
    this.#hopes.set(route, hopes);
    hopes.asked += 1;
    if (worked) hopes.worked += 1;
  }

  /** Routes that refused whatever was asked of them, many times over: rules beyond the schemas cannot forbid everything. */
  neverWorked(): string[] {
    return [...this.#hopes]
      .filter(([, { asked, worked }]) => asked >= ENOUGH && worked === 0)
      .map(([route, { asked }]) => `${route} refused all of ${asked} requests that nothing forbids`);
  }

  /** How many answers had a status from `from` on. */
  countFrom(from: number): number {
    let sum = 0;
    for (const statuses of this.#routes.values())
      for (const [status, count] of statuses) if (status >= from) sum += count;
    return sum;
  }

  get routes(): ReadonlyMap<string, ReadonlyMap<number, number>> {
    return this.#routes;
  }

  /** A table in Markdown: a line a route. */
  table(): string {
    const lines = [...this.#routes]
      .toSorted(([one], [other]) => (one < other ? -1 : 1))
      .map(([route, statuses]) => {
        const sorted = [...statuses].toSorted(([one], [other]) => one - other);
        const total = sorted.reduce((sum, [, count]) => sum + count, 0);
        return `| \`${route}\` | ${total} | ${sorted.map(([status, count]) => `${status}: ${count}`).join(', ')} |`;
      });
    return ['| route | requests | answers |', '| --- | --- | --- |', ...lines].join('\n');
  }
}

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
