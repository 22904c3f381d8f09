import { parseArgs, type ParseArgsConfig } from 'node:util';
import { UsageError } from '@tocsin/embedded/program/run-program';
import type { LoadOptions } from './load.ts';

/** For `parseArgs`. */
export const LOAD_OPTIONS = {
  rate: { type: 'string', default: '500' },
  interval: { type: 'string', default: '20' },
} as const;

export const LOAD_HELP = `  --rate NUMBER       checks per second (default 500)
  --interval NUMBER   of each monitor, seconds (default 20)
  --json FILE         writes the results there`;

/** `parseArgs` of Node.js, with a message for people. @throws UsageError */
export function parseCommandLine<Options extends NonNullable<ParseArgsConfig['options']>>(
  args: readonly string[],
  options: Options,
): ReturnType<typeof parseArgs<{ options: Options }>>['values'] {
  try {
    return parseArgs({ args: [...args], options }).values;
  } catch (error) {
    throw new UsageError(error instanceof Error ? error.message : String(error), { cause: error });
  }
}

/** The limit of one request that applies a set of monitors. */
const MAX_MONITORS = 10_000;

/** @throws UsageError */
export function parseLoadOptions(values: { readonly rate: string; readonly interval: string }): LoadOptions {
  const [rate, interval] = [Number(values.rate), Number(values.interval)];
  if (!Number.isInteger(rate) || rate < 10) throw new UsageError('--rate takes a whole number from 10');
  if (!Number.isInteger(interval) || interval < 5)
    throw new UsageError('--interval takes a whole number from 5');
  if (rate * interval > MAX_MONITORS)
    throw new UsageError(
      `--rate times --interval is ${rate * interval} monitors; at most ${MAX_MONITORS} are possible`,
    );
  return { rate, interval };
}
