import type { Logger } from './logger.ts';

export interface LoopOptions {
  /** For the log. */
  readonly name: string;
  /** Aborted when the loop is asked to stop. */
  readonly work: (signal: AbortSignal) => Promise<void>;
  /** From the start of one run to the start of the next; a longer run delays the next, they never overlap. */
  readonly everyMs: number;
  readonly logger: Logger;
  /** Called with each error after it was logged, e.g. to count it. An error never ends the loop. */
  readonly onError?: (error: unknown) => void;
}

export interface Loop {
  /** Runs the work at once, or once more right after the running one. */
  wake(): void;
  /** No run begins after this; resolves when the running one has ended. */
  stop(): Promise<void>;
}

/** Runs the work now and then regularly. */
export function createLoop(options: LoopOptions): Loop {
  const controller = new AbortController();
  let timer: NodeJS.Timeout | undefined;
  let running: Promise<void> | undefined;
  let wakeAgain = false;

  async function run(): Promise<void> {
    const startedAt = performance.now();
    try {
      await options.work(controller.signal);
    } catch (error) {
      if (!controller.signal.aborted) report(error);
    }
    running = undefined;
    if (controller.signal.aborted) return;
    const delayMs = wakeAgain ? 0 : Math.max(0, options.everyMs - (performance.now() - startedAt));
    wakeAgain = false;
    timer = setTimeout(begin, delayMs);
  }

  function report(error: unknown): void {
    options.logger.error(`${options.name} failed; it runs again in ${options.everyMs} ms`, { error });
    options.onError?.(error);
  }

  function begin(): void {
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
      clearTimeout(timer);
      begin();
    },
    async stop() {
      controller.abort();
      clearTimeout(timer);
      await running;
    },
  };
}
