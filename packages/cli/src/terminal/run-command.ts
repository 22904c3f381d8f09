import { spawn } from 'node:child_process';
import { constants } from 'node:os';

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;
/** Ctrl-C reaches the command and this process, which may notice the end of the command first. */
const LATE_SIGNAL_MS = 200;

/**
 * Runs a command with the stdin, stdout and stderr of this process. Until it ends, signals go to the command and do not end this process.
 * @returns its exit code as in a shell: 128 and the number of the signal that killed it, 127 if it was not found, 126 if it cannot be run
 */
export async function runCommand(
  [file = '', ...args]: readonly string[],
  note: (text: string) => void,
): Promise<number> {
  const { stdin, stdout, stderr } = process;
  const child = spawn(file, args, { stdio: 'inherit' });
  // Ctrl-C in a terminal reaches the command by itself. Many commands take a second SIGINT as an order to skip their cleanup.
  const hasTerminal = stdin.isTTY || stdout.isTTY || stderr.isTTY;
  const forward = (signal: NodeJS.Signals): void => {
    if (signal !== 'SIGINT' || !hasTerminal) child.kill(signal);
  };
  for (const signal of SIGNALS) process.on(signal, forward);
  try {
    return await new Promise((resolve) => {
      child.once('exit', (code, signal) => resolve(code ?? 128 + constants.signals[signal ?? 'SIGKILL']));
      child.on('error', (error: NodeJS.ErrnoException) => {
        // Otherwise the command runs, and only a signal could not be sent.
        if (child.pid !== undefined) return;
        const isMissing = error.code === 'ENOENT';
        note(
          isMissing ? `tocsin: ${file}: command not found` : `tocsin: ${file} cannot be run (${error.code})`,
        );
        resolve(isMissing ? 127 : 126);
      });
    });
  } finally {
    const stopListening = (): void => SIGNALS.forEach((signal) => process.off(signal, forward));
    setTimeout(stopListening, LATE_SIGNAL_MS).unref();
  }
}
