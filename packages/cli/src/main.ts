import { CommanderError } from 'commander';
import { createProgram } from './program.ts';
import { CliError, EXIT, type ExitCode } from './terminal/cli-error.ts';
import { processTerminal } from './terminal/process-terminal.ts';
import type { Terminal } from './terminal/terminal.ts';
import { plain } from './terminal/text.ts';

/** Runs one command. Never rejects: what goes wrong is told. @param args without `node` and the script */
export async function run(args: readonly string[], terminal: Terminal): Promise<ExitCode> {
  let code: ExitCode = EXIT.ok;
  try {
    const program = createProgram(terminal, (exit) => {
      code = exit;
    });
    await program.parseAsync(args, { from: 'user' });
    return code;
  } catch (error) {
    return tell(error, terminal);
  }
}

function tell(error: unknown, { note, signal, env }: Terminal): ExitCode {
  // Told already, or help that was asked for.
  if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.ok : EXIT.failed;
  if (signal.aborted) return EXIT.failed;
  if (error instanceof CliError) {
    // What the API said of monitors holds names that others gave them.
    note(`tocsin: ${plain(error.message)}`);
    for (const line of error.lines) note(plain(line));
    return EXIT.failed;
  }
  const { message, stack } = error instanceof Error ? error : new Error(String(error));
  note(`tocsin: something went wrong: ${plain(message)}`);
  if (env['TOCSIN_DEBUG'] !== undefined) note(stack ?? '');
  else note('TOCSIN_DEBUG=1 shows where.');
  return EXIT.failed;
}

/** Runs what the command line of this process says. */
export async function main(args: readonly string[]): Promise<void> {
  const stop = new AbortController();
  for (const name of ['SIGINT', 'SIGTERM'] as const) {
    process.once(name, () => {
      stop.abort();
      // As a process that a signal ends, whatever still hangs.
      process.exit(name === 'SIGINT' ? 130 : 143);
    });
  }
  process.exitCode = await run(args, processTerminal(stop.signal));
}
