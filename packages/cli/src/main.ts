import { CommanderError } from 'commander';
import { createProgram } from './program.ts';
import { CliError, EXIT } from './terminal/cli-error.ts';
import { processTerminal } from './terminal/process-terminal.ts';
import type { Terminal } from './terminal/terminal.ts';
import { plain } from './terminal/text.ts';

export async function main(args: readonly string[]): Promise<void> {
  const stop = new AbortController();
  for (const [signal, code] of [
    ['SIGINT', 130],
    ['SIGTERM', 143],
  ] as const) {
    process.on(signal, () => {
      // While `runCommand` listens, it forwards the signal to its command.
      if (process.listenerCount(signal) > 1) return;
      stop.abort();
      // Exits like a process that the signal ends, even if something hangs.
      process.exit(code);
    });
  }
  process.exitCode = await run(args, processTerminal(stop.signal));
}

/** Runs one command. Writes errors to stderr and never rejects. @param args without `node` and the script */
export async function run(args: readonly string[], terminal: Terminal): Promise<number> {
  let code: number = EXIT.ok;
  try {
    const program = createProgram(args, terminal, (exit) => {
      code = exit;
    });
    await program.parseAsync(args, { from: 'user' });
    return code;
  } catch (error) {
    return reportError(error, terminal);
  }
}

function reportError(error: unknown, { note, signal, env }: Terminal): number {
  // Commander has already printed the error or the requested help.
  if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.ok : EXIT.failed;
  if (signal.aborted) return EXIT.failed;
  if (error instanceof CliError) {
    // API errors contain monitor names, which are untrusted.
    note(`tocsin: ${plain(error.message)}`);
    for (const line of error.lines) note(plain(line));
    return EXIT.failed;
  }
  const { message, stack } = error instanceof Error ? error : new Error(String(error));
  note(`tocsin: unexpected error: ${plain(message)}`);
  note(env['TOCSIN_DEBUG'] === undefined ? 'Set TOCSIN_DEBUG=1 to print the stack.' : (stack ?? ''));
  return EXIT.failed;
}
