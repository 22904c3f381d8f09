import cliProgress from 'cli-progress';
import yoctoSpinner from 'yocto-spinner';
import type { Progress } from './terminal.ts';

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
