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
  // `maintain` passes what follows `--` to its command.
  const isJson = args.slice(0, args.includes('--') ? args.indexOf('--') : undefined).includes('--json');
  let code: number = EXIT.ok;
  try {
    const program = createProgram(args, isJson, terminal, (exit) => {
      code = exit;
    });
    await program.parseAsync(args, { from: 'user' });
    return code;
  } catch (error) {
    return reportError(error, isJson, terminal);
  }
}

function reportError(error: unknown, isJson: boolean, { note, noteJson, signal, env }: Terminal): number {
  const isUsage = error instanceof CommanderError;
  if (isUsage && error.exitCode === 0) return EXIT.ok;
  if (signal.aborted) return EXIT.failed;
  const { code, message, retryable, lines } = isUsage ? new CliError(error.message) : toCliError(error, env);
  if (isJson) noteJson({ code, message, retryable, details: lines.map((line) => line.trim()) });
  else if (!isUsage) {
    // Commander has already printed its errors. API errors contain monitor names, which are untrusted.
    note(`tocsin: ${plain(message)}`);
    for (const line of lines) note(plain(line));
  }
  return EXIT[code];
}

function toCliError(error: unknown, env: Terminal['env']): CliError {
  if (error instanceof CliError) return error;
  const { message, stack = '' } = error instanceof Error ? error : new Error(String(error));
  const lines =
    env['TOCSIN_DEBUG'] === undefined ? ['Set TOCSIN_DEBUG=1 to print the stack.'] : stack.split('\n');
  return new CliError(`unexpected error: ${message}`, { lines, cause: error, code: 'failed' });
}
