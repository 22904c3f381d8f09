import picocolors from 'picocolors';
import { confirm } from './confirm.ts';
import { showProgress, type ShownProgress } from './progress.ts';
import type { Progress, Terminal } from './terminal.ts';

const QUIET: Progress = { update: () => undefined, stop: () => undefined };
/** As a process that SIGPIPE ends: what was to be done may not be. */
const READER_IS_GONE = 141;

/** The terminal, or the pipes, that this process was started with. */
export function processTerminal(signal: AbortSignal): Terminal {
  const { env, stdin, stdout, stderr } = process;
  const { NO_COLOR = '', TERM } = env;
  const takesColor = NO_COLOR === '' && TERM !== 'dumb';
  // Whoever reads no further, as `head`, ends the command.
  stdout.on('error', (error: NodeJS.ErrnoException) => {
    process.exit(error.code === 'EPIPE' ? READER_IS_GONE : 1);
  });
  stderr.on('error', () => undefined);
  let shown: ShownProgress | null = null;
  // Whatever ends it: the cursor is back.
  process.once('exit', () => shown?.stop());
  const write = (stream: NodeJS.WriteStream, text: string): void => {
    shown?.giveWay();
    stream.write(`${text}\n`);
  };
  return {
    env,
    cwd: process.cwd(),
    isInteractive: stdin.isTTY && (stderr.isTTY || stdout.isTTY),
    colors: picocolors.createColors(takesColor && stdout.isTTY),
    signal,
    print: (text) => write(stdout, text),
    note: (text) => write(stderr, text),
    progress: (text, total) => {
      if (!stderr.isTTY || !takesColor) return QUIET;
      const { update, stop } = (shown = showProgress(stderr, text, total));
      return {
        update,
        stop: () => {
          stop();
          shown = null;
        },
      };
    },
    confirm: (question) => confirm(question, stdin, stderr.isTTY ? stderr : stdout, signal),
  };
}
