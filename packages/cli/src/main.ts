import { run } from './run.ts';
import { processTerminal } from './terminal/process-terminal.ts';

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
