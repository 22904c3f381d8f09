import type { Logger } from './logger.ts';

export interface LoopOptions {
  readonly name: string;
  /** The signal is aborted when the loop is asked to stop. */
  readonly work: (signal: AbortSignal) => Promise<void>;
  /** From the start of one run to the start of the next. Runs never overlap: a longer run delays the next one. */
  readonly everyMs: number;
  /** How long a `wake` waits for others, so that a burst of them causes one run. Default 0. */
  readonly gatherMs?: number;
  /** For the errors of the work, which never end the loop. */
  readonly logger: Logger;
}

export interface Loop {
  /** Runs the work now (or after `gatherMs`), or once more right after the current run. */
  wake(): void;
  /** Starts no further run, and resolves when the current one has ended. */
  stop(): Promise<void>;
}

/** Runs the work now and then at regular intervals. */
export function createLoop(options: LoopOptions): Loop {
  const { name, work, everyMs, gatherMs = 0, logger } = options;
  const controller = new AbortController();
  let timer: NodeJS.Timeout | undefined;
  let running: Promise<void> | undefined;
  let wakeAgain = false;
  let gathering = false;

  async function run(): Promise<void> {
    const startedAt = performance.now();
    try {
      await work(controller.signal);
    } catch (error) {
      if (!controller.signal.aborted)
        logger.error(`${name} failed; the next run is in ${everyMs} ms`, { error });
    }
    running = undefined;
    if (controller.signal.aborted) return;
    gathering = wakeAgain;
    wakeAgain = false;
    const restMs = Math.max(0, everyMs - (performance.now() - startedAt));
    timer = setTimeout(begin, gathering ? Math.min(gatherMs, restMs) : restMs);
  }

  function begin(): void {
    gathering = false;
    running = run();
  }

  begin();
  return {
    wake() {
      if (controller.signal.aborted || gathering) return;
      if (running !== undefined) {
        wakeAgain = true;
        return;
      }
      clearTimeout(timer);
      if (gatherMs === 0) return begin();
      gathering = true;
      timer = setTimeout(begin, gatherMs);
    },
    async stop() {
      controller.abort();
      clearTimeout(timer);
      await running;
    },
  };
}
