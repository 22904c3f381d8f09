export interface SharedQueries {
  /** How many queries run at the same time. Each occupies a connection, for a long time if Postgres is far away. */
  readonly maxQueries: number;
  /** Keys of one query. */
  readonly maxKeys: number;
}

interface Call<Key, Result> {
  readonly key: Key;
  readonly resolve: (result: Result) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * Looks up single keys by queries for several: calls share a query if they come in the same turn of the event loop, or while others run.
 * @param run resolves to the results in the order of the keys; an error is that of each of its calls
 */
export function shareQueries<Key, Result>(
  run: (keys: readonly Key[]) => Promise<readonly Result[]>,
  { maxQueries, maxKeys }: SharedQueries,
): (key: Key) => Promise<Result> {
  const waiting: Call<Key, Result>[] = [];
  let running = 0;
  let isScheduled = false;

  function startMore(): void {
    isScheduled = false;
    while (running < maxQueries && waiting.length > 0) void start(waiting.splice(0, maxKeys));
  }

  async function start(calls: readonly Call<Key, Result>[]): Promise<void> {
    running += 1;
    try {
      const results = await run(calls.map(({ key }) => key));
      for (const [index, { resolve }] of calls.entries()) resolve(results[index] as Result);
    } catch (error) {
      for (const { reject } of calls) reject(error);
    }
    running -= 1;
    startMore();
  }

  return (key) =>
    new Promise((resolve, reject) => {
      waiting.push({ key, resolve, reject });
      if (isScheduled) return;
      isScheduled = true;
      setImmediate(startMore);
    });
}
