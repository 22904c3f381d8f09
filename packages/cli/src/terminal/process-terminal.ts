import { once } from 'node:events';
import { createInterface } from 'node:readline/promises';
import cliProgress from 'cli-progress';
import picocolors from 'picocolors';
import yoctoSpinner from 'yocto-spinner';
import type { Progress, Terminal } from './terminal.ts';

/** Asks for a yes. An input that ends, as by Ctrl-D, or Ctrl-C at the question is a no. */
export async function confirm(
  question: string,
  input: NodeJS.ReadableStream,
  output: NodeJS.WritableStream,
  signal: AbortSignal,
): Promise<boolean> {
  const lines = createInterface({ input, output });
  const ended = once(lines, 'close').then(() => null);
  // Node 20 never settles a question whose input ends; later versions reject it.
  const answered = lines.question(`${question} [y/N] `, { signal }).catch((error: unknown) => {
    if (signal.aborted) throw error;
    return null;
  });
  try {
    const answer = await Promise.race([answered, ended]);
    if (answer === null) output.write('\n');
    return /^y(es)?$/i.test(answer?.trim() ?? '');
  } finally {
    lines.close();
  }
}

/** Progress that other lines may stand above. */
export interface ShownProgress extends Progress {
  /** Makes room for a line; what is shown comes again below it. */
  readonly giveWay: () => void;
}

/** Shows long work on a terminal. @param total how much there is, where that is known: then a bar says how far it is */
export function showProgress(
  stream: NodeJS.WriteStream,
  text: string,
  total: number | undefined,
): ShownProgress {
  return total !== undefined && total > 1 ? showBar(stream, text, total) : showSpinner(stream, text);
}

function showBar(stream: NodeJS.WriteStream, text: string, total: number): ShownProgress {
  const bar = new cliProgress.SingleBar({
    stream,
    format: '{bar} {value}/{total} {text}',
    barsize: 24,
    barCompleteChar: '█',
    barIncompleteChar: '░',
    hideCursor: true,
    clearOnComplete: true,
    // Also where it is as before: a line may have taken its place.
    forceRedraw: true,
    // Whoever ends the process stops what is shown.
    gracefulExit: false,
  });
  bar.start(total, 0, { text });
  return {
    update: (next, done) => {
      if (done === undefined) bar.update({ text: next });
      else bar.update(done, { text: next });
    },
    stop: () => bar.stop(),
    giveWay: () => {
      stream.cursorTo(0);
      stream.clearLine(1);
    },
  };
}

function showSpinner(stream: NodeJS.WriteStream, text: string): ShownProgress {
  const spinner = yoctoSpinner({ text, stream, handleSignals: false }).start();
  return {
    update: (next) => {
      spinner.text = next;
    },
    stop: () => void spinner.stop(),
    // It sees by itself what is written.
    giveWay: () => undefined,
  };
}

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
