import type { Logger } from './logger.ts';

export interface LoopOptions {
  /** For the log. */
  readonly name: string;
  /** Aborted when the loop is asked to stop. */
  readonly work: (signal: AbortSignal) => Promise<void>;
  /** From the start of one run to the start of the next; a longer run delays the next, they never overlap. */
  readonly everyMs: number;
  /** How long a wake waits for others, so that a burst of them is one run. Default 0. */
  readonly gatherMs?: number;
  readonly logger: Logger;
  /** Called with each error after it was logged, e.g. to count it. An error never ends the loop. */
  readonly onError?: (error: unknown) => void;
}

export interface Loop {
  /** Runs the work at once (or after `gatherMs`), or once more right after the running one. */
  wake(): void;
  /** No run begins after this; resolves when the running one has ended. */
  stop(): Promise<void>;
}

/** Runs the work now and then regularly. */
export function createLoop(options: LoopOptions): Loop {
  const controller = new AbortController();
  const gatherMs = options.gatherMs ?? 0;
  let timer: NodeJS.Timeout | undefined;
  let running: Promise<void> | undefined;
  let wakeAgain = false;
  let gathering = false;

  async function run(): Promise<void> {
    const startedAt = performance.now();
    try {
      await options.work(controller.signal);
    } catch (error) {
      if (!controller.signal.aborted) report(error);
    }
    running = undefined;
    if (controller.signal.aborted) return;
    gathering = wakeAgain;
    wakeAgain = false;
    const restMs = Math.max(0, options.everyMs - (performance.now() - startedAt));
    timer = setTimeout(begin, gathering ? Math.min(gatherMs, restMs) : restMs);
  }

  function report(error: unknown): void {
    options.logger.error(`${options.name} failed; it runs again in ${options.everyMs} ms`, { error });
    options.onError?.(error);
  }

  function begin(): void {
    gathering = false;
    running = run();
  }

  begin();
  return {
    wake() {
      if (controller.signal.aborted) return;
      if (running !== undefined) {
        wakeAgain = true;
        return;
      }
      if (gathering) return;
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
