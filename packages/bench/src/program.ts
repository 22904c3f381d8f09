import { EmbeddedError } from '@tocsin/embedded/embedded-error';
import { Teardown } from './lab/teardown.ts';

/** A mistake on the command line, in words for the person who made it. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}

/**
 * The life of a program that starts servers and services: whatever it started is stopped, also after a Ctrl-C, and the process ends.
 * @param work gives the exit code
 */
export async function runProgram(work: (teardown: Teardown) => Promise<number>): Promise<void> {
  const teardown = new Teardown();
  const stopped = stopOnSignals(teardown);
  let exitCode = 1;
  try {
    exitCode = await work(teardown);
  } catch (error) {
    if (stopped.requested) return;
    process.stderr.write(`${describe(error)}\n`);
  }
  if (stopped.requested) return;
  await teardown.run();
  process.exit(exitCode);
}

/** What people can mend is one line; what is our mistake has a stack. */
function describe(error: unknown): string {
  if (error instanceof UsageError || error instanceof EmbeddedError) return error.message;
  return error instanceof Error && error.stack !== undefined ? error.stack : String(error);
}

/** Whatever is under way fails when its servers go; nobody has to read that. */
function stopOnSignals(teardown: Teardown): { readonly requested: boolean } {
  const stop = { requested: false };
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    process.on(signal, () => {
      if (stop.requested) return;
      stop.requested = true;
      process.stdout.write('\nStopping …\n');
      void teardown.run().then(() => process.exit(130));
    });
  }
  process.on('uncaughtException', (problem) => {
    process.stderr.write(`${describe(problem)}\n`);
    void teardown.run().then(() => process.exit(1));
  });
  return stop;
}
