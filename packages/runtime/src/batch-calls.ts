export interface BatchLimits {
  readonly maxConcurrent: number;
  readonly maxSize: number;
  /** The first item waits this long for others. Defaults to the current turn of the event loop. */
  readonly gatherMs?: number;
}

interface Call<Item, Result> {
  readonly item: Item;
  readonly resolve: (result: Result) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * Handles items in batches. Items that arrive while the maximum number of batches runs share the next one.
 * @param run resolves to the results in the order of the items. If it rejects, each item of the batch rejects
 */
export function batchCalls<Item, Result>(
  run: (items: readonly Item[]) => Promise<readonly Result[]>,
  { maxConcurrent, maxSize, gatherMs }: BatchLimits,
): (item: Item) => Promise<Result> {
  const waiting: Call<Item, Result>[] = [];
  let running = 0;
  let isScheduled = false;

  function startMore(): void {
    isScheduled = false;
    while (running < maxConcurrent && waiting.length > 0) void start(waiting.splice(0, maxSize));
  }

  async function start(calls: readonly Call<Item, Result>[]): Promise<void> {
    running += 1;
    try {
      const results = await run(calls.map(({ item }) => item));
      for (const [index, { resolve }] of calls.entries()) resolve(results[index] as Result);
    } catch (error) {
      for (const { reject } of calls) reject(error);
    }
    running -= 1;
    startMore();
  }

  return (item) =>
    new Promise((resolve, reject) => {
      waiting.push({ item, resolve, reject });
      if (isScheduled) return;
      isScheduled = true;
      if (gatherMs === undefined) setImmediate(startMore);
      else setTimeout(startMore, gatherMs);
    });
}
