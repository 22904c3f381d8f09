import { EmbeddedError } from '../embedded-error.ts';
import { onAbandoned } from './on-abandoned.ts';
import { Teardown } from './teardown.ts';

/** npm forwards signals that the terminal has already sent, so a Ctrl-C can arrive twice. */
const SAME_SIGNAL_MS = 1_000;
const CLEANUP_TIMEOUT_MS = 60_000;
const EXIT_INTERRUPTED = 130;
const EXIT_ABANDONED = 129;
const EXIT_NOT_PERMITTED = 2;

/** Invalid command-line arguments. The message is shown without a stack. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}

/** The machine does not permit a required operation. The message explains the fix, and is shown without a stack. */
export class NotPermittedError extends Error {
  override readonly name = 'NotPermittedError';
}

/**
 * Runs a program that starts servers and services, then exits the process. First stops everything that was started, whether the program
 * succeeds, fails, receives SIGINT, SIGTERM or SIGHUP, or loses its parent or the reader of its output. A second signal, or a cleanup of more
 * than a minute, exits immediately. The sweeper of `openFolder` then stops the rest, even after SIGKILL.
 * @param work resolves to the exit code. The code becomes 1 if the cleanup fails, and 2 after NotPermittedError
 */
export async function runProgram(work: (teardown: Teardown) => Promise<number>): Promise<void> {
  const teardown = new Teardown();
  let endingSince: number | undefined;
  const end = async (exitCode: number): Promise<void> => {
    if (endingSince === undefined) {
      endingSince = Date.now();
      setTimeout(() => process.exit(exitCode || 1), CLEANUP_TIMEOUT_MS).unref();
    }
    const isClean = await teardown.run();
    process.exit(isClean ? exitCode : exitCode || 1);
  };
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    process.on(signal, () => {
      if (endingSince === undefined) process.stdout.write('\nStopping …\n');
      else if (Date.now() - endingSince > SAME_SIGNAL_MS) process.exit(EXIT_INTERRUPTED);
      void end(EXIT_INTERRUPTED);
    });
  }
  onAbandoned(() => void end(EXIT_ABANDONED), { parent: true });
  process.on('uncaughtException', (error) => {
    process.stderr.write(`${describe(error)}\n`);
    void end(1);
  });
  try {
    await end(await work(teardown));
  } catch (error) {
    // Work in progress fails when its servers stop.
    if (endingSince === undefined) process.stderr.write(`${describe(error)}\n`);
    await end(error instanceof NotPermittedError ? EXIT_NOT_PERMITTED : 1);
  }
}

/** Returns one line for errors that the user can fix, and a stack for defects. */
function describe(error: unknown): string {
  const isExpected = [UsageError, NotPermittedError, EmbeddedError].some((kind) => error instanceof kind);
  if (error instanceof Error && isExpected) return error.message;
  return error instanceof Error && error.stack !== undefined ? error.stack : String(error);
}
