import { createInterface } from 'node:readline/promises';
import picocolors from 'picocolors';
import yoctoSpinner from 'yocto-spinner';
import type { Progress, Terminal } from './terminal.ts';

const QUIET: Progress = { update: () => undefined, stop: () => undefined };

/** The terminal, or the pipes, that this process was started with. */
export function processTerminal(signal: AbortSignal): Terminal {
  const { env, stdin, stdout, stderr } = process;
  const { NO_COLOR = '', TERM } = env;
  const takesColor = NO_COLOR === '' && TERM !== 'dumb';
  // Whoever reads no further, as `head`, ends the command, not with an error.
  stdout.on('error', (error: NodeJS.ErrnoException) => {
    process.exit(error.code === 'EPIPE' ? 0 : 1);
  });
  return {
    env,
    cwd: process.cwd(),
    isInteractive: stdin.isTTY && stderr.isTTY,
    colors: picocolors.createColors(takesColor && stdout.isTTY),
    signal,
    print: (text) => void stdout.write(`${text}\n`),
    note: (text) => void stderr.write(`${text}\n`),
    progress: (text) => (stderr.isTTY && takesColor ? spin(text) : QUIET),
    async confirm(question) {
      const lines = createInterface({ input: stdin, output: stderr });
      try {
        const answer = await lines.question(`${question} [y/N] `, { signal });
        return /^y(es)?$/i.test(answer.trim());
      } finally {
        lines.close();
      }
    },
  };
}

function spin(text: string): Progress {
  const spinner = yoctoSpinner({ text, stream: process.stderr }).start();
  return {
    update: (next) => {
      spinner.text = next;
    },
    stop: () => void spinner.stop(),
  };
}
