import { createInterface } from 'node:readline/promises';
import { buffer } from 'node:stream/consumers';
import cliProgress from 'cli-progress';
import picocolors from 'picocolors';
import yoctoSpinner from 'yocto-spinner';
import { runCommand } from './run-command.ts';
import { maskOutput } from './mask-output.ts';
import type { Progress, Terminal } from './terminal.ts';
import { plain } from './text.ts';

const NO_PROGRESS: Progress = { update: () => undefined, stop: () => undefined };
/** Exit code of a process that SIGPIPE ends. The command may not have finished its work. */
const EXIT_SIGPIPE = 141;

export function processTerminal(signal: AbortSignal): Terminal {
  const { env, stdin, stdout, stderr } = process;
  // The command ends when its reader ends, such as `head`.
  stdout.on('error', (error: NodeJS.ErrnoException) => {
    process.exit(error.code === 'EPIPE' ? EXIT_SIGPIPE : 1);
  });
  stderr.on('error', () => undefined);
  let shown: ShownProgress | null = null;
  // Restores the cursor however the process ends.
  process.once('exit', () => shown?.stop());
  const write = (stream: NodeJS.WriteStream, text: string): void => {
    shown?.makeRoom();
    stream.write(`${text}\n`);
  };
  return maskOutput({
    env,
    cwd: process.cwd(),
    readStdin: () => buffer(stdin),
    isInteractive: stdin.isTTY && (stderr.isTTY || stdout.isTTY),
    colors: picocolors.createColors(hasColors(stdout, env)),
    noteColors: picocolors.createColors(hasColors(stderr, env)),
    signal,
    print: (text) => write(stdout, text),
    note: (text) => write(stderr, text),
    progress: (text, total) => {
      if (!stderr.isTTY || !hasColors(stderr, env)) return NO_PROGRESS;
      const { update, stop } = (shown = showProgress(stderr, text, total));
      return {
        update,
        stop: () => {
          stop();
          shown = null;
        },
      };
    },
    run: (command) => runCommand(command, (text) => write(stderr, plain(text))),
    confirm: (question) => confirm(question, stdin, stderr.isTTY ? stderr : stdout, signal),
  });
}

/** As in Node.js, `FORCE_COLOR` has precedence over `NO_COLOR`. */
export function hasColors({ isTTY }: Pick<NodeJS.WriteStream, 'isTTY'>, env: Terminal['env']): boolean {
  const { FORCE_COLOR = '', NO_COLOR = '', TERM } = env;
  if (FORCE_COLOR !== '') return FORCE_COLOR !== '0' && FORCE_COLOR !== 'false';
  // Streams that are not terminals have no `isTTY`.
  return (isTTY as boolean | undefined) === true && NO_COLOR === '' && TERM !== 'dumb';
}

interface ShownProgress extends Progress {
  /** Clears the line for other text. The progress is redrawn below it. */
  readonly makeRoom: () => void;
}

/** Shows a bar if the total is known, otherwise a spinner. */
export function showProgress(
  stream: NodeJS.WriteStream,
  text: string,
  total: number | undefined,
): ShownProgress {
  if (total === undefined || total <= 1) {
    const spinner = yoctoSpinner({ text, stream, handleSignals: false }).start();
    return {
      update: (next) => {
        spinner.text = next;
      },
      stop: () => void spinner.stop(),
      // The spinner detects other output.
      makeRoom: () => undefined,
    };
  }
  const bar = new cliProgress.SingleBar({
    stream,
    format: '{bar} {value}/{total} {text}',
    barsize: 24,
    barCompleteChar: '█',
    barIncompleteChar: '░',
    hideCursor: true,
    clearOnComplete: true,
    // Other text may have replaced the bar.
    forceRedraw: true,
    // `processTerminal` stops the bar at exit.
    gracefulExit: false,
  });
  bar.start(total, 0, { text });
  return {
    update: (next, done) => {
      if (done === undefined) bar.update({ text: next });
      else bar.update(done, { text: next });
    },
    stop: () => bar.stop(),
    makeRoom: () => {
      stream.cursorTo(0);
      stream.clearLine(1);
    },
  };
}

/** Asks a yes-or-no question. The end of input, Ctrl-D and Ctrl-C count as no. */
export async function confirm(
  question: string,
  input: NodeJS.ReadableStream,
  output: NodeJS.WritableStream,
  signal: AbortSignal,
): Promise<boolean> {
  // `question` would never settle when the input ends in Node 20.
  const lines = createInterface({ input, output, signal, prompt: `${question} [y/N] ` });
  lines.prompt();
  const answer = await lines[Symbol.asyncIterator]().next();
  lines.close();
  if (answer.done === true) output.write('\n');
  return answer.done !== true && /^y(es)?$/i.test(answer.value.trim());
}
