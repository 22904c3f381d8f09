import { parseArgs } from 'node:util';
import { UsageError } from '@tocsin/embedded/program/run-program';
import type { CampaignOptions } from './campaign/run.ts';

const HELP = `npm run test:fuzz -- [--requests 100000] [--seed 1] [--lanes 3] [--seconds 3600] [--all | --path …]

Asks a real api process, on stores of its own, whatever its contracts allow and all that they do not.
--requests  how many requests
--seconds   after which it ends, however many were made
--seed      the same seed asks the same; by default another one each time
--lanes     accounts that are asked for at the same time
--all       goes on after a failure, and makes none smaller
--path      one run alone, as the message of a failure says`;

/** @returns a text where that is wanted. @throws UsageError */
export function parseCommandLine(args: readonly string[]): CampaignOptions | string {
  const values = parse(args);
  if (values.help === true) return HELP;
  return {
    requests: toNumber('requests', values.requests) ?? 100_000,
    // A day: it ends by the number of requests.
    seconds: toNumber('seconds', values.seconds) ?? 86_400,
    seed: toNumber('seed', values.seed) ?? Math.floor(Math.random() * 1_000_000),
    lanes: toNumber('lanes', values.lanes) ?? 3,
    path: values.path ?? null,
    all: values.all === true,
  };
}

function parse(args: readonly string[]) {
  const text = { type: 'string' } as const;
  try {
    return parseArgs({
      args: args.filter((arg) => arg !== '--'),
      options: {
        requests: text,
        seconds: text,
        seed: text,
        lanes: text,
        path: text,
        all: { type: 'boolean' },
        help: { type: 'boolean', short: 'h' },
      },
    }).values;
  } catch (error) {
    throw new UsageError(error instanceof Error ? error.message : String(error));
  }
}

function toNumber(name: string, text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const value = Number(text.replaceAll('_', ''));
  if (Number.isSafeInteger(value) && value >= 1) return value;
  throw new UsageError(`--${name} must be a whole number from 1, not "${text}"`);
}
