import { spawn } from 'node:child_process';
import { constants } from 'node:os';

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;
/** Ctrl-C reaches both processes. This process may notice the end of the command before its own signal. */
const LATE_SIGNAL_MS = 200;

/**
 * Runs a command with the stdin, stdout and stderr of this process. Signals are forwarded to the command and do not end this process.
 * @returns the exit code as in a shell: 128 plus the number of the signal, 127 if the command was not found, 126 if it cannot be run
 */
export async function runCommand(
  [file = '', ...args]: readonly string[],
  note: (text: string) => void,
): Promise<number> {
  const { stdin, stdout, stderr } = process;
  const child = spawn(file, args, { stdio: 'inherit' });
  // In a terminal, Ctrl-C also reaches the command. Many commands skip their cleanup after a second SIGINT.
  const hasTerminal = stdin.isTTY || stdout.isTTY || stderr.isTTY;
  const forward = (signal: NodeJS.Signals): void => {
    if (signal !== 'SIGINT' || !hasTerminal) child.kill(signal);
  };
  for (const signal of SIGNALS) process.on(signal, forward);
  try {
    return await new Promise((resolve) => {
      child.once('exit', (code, signal) => resolve(code ?? 128 + constants.signals[signal ?? 'SIGKILL']));
      child.on('error', (error: NodeJS.ErrnoException) => {
        // If there is a process, only a signal could not be sent.
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
