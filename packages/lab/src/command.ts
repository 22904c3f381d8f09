import { runProgram, UsageError } from '@tocsin/embedded/program/run-program';
import type { Teardown } from '@tocsin/embedded/program/teardown';
import { helpText, parseOptions, type Options, type ValuesOf } from './options.ts';

/** A command that takes only options. */
export interface Command<Known extends Options> {
  /** The npm script, and the name of a campaign. */
  readonly name: string;
  readonly about: string;
  readonly options: Known;
  readonly run: (values: ValuesOf<Known>, teardown: Teardown) => Promise<number>;
}

/** Runs a command, or prints its help, and exits the process. */
export async function runCommand<Known extends Options>(
  args: readonly string[],
  { name, about, options, run }: Command<Known>,
): Promise<void> {
  await runProgram(async (teardown) => {
    const { help, values, positionals } = parseOptions(args, options);
    if (positionals.length > 0) throw new UsageError(`Unexpected argument '${positionals[0]}'`);
    if (!help) return run(values, teardown);
    say(helpText(name.includes(' -- ') ? name : `${name} --`, about, options));
    return 0;
  });
}

export function say(line: string): void {
  process.stdout.write(`${line}\n`);
}
