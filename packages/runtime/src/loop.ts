import type { Logger } from './logger.ts';

export interface LoopOptions {
  readonly name: string;
  readonly work: (signal: AbortSignal) => Promise<void>;
  /** Time from start to start. Runs never overlap, so a long run delays the next one. */
  readonly everyMs: number;
  /** A `wake` waits this long for others, so that a burst causes one run. Defaults to 0. */
  readonly gatherMs?: number;
  readonly logger: Logger;
}

export interface Loop {
  /** Runs the work now, or again right after the current run. */
  wake(): void;
  stop(): Promise<void>;
}

/** Runs the work now and then at regular intervals. Errors are logged and never end the loop. */
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
