export interface BatcherOptions<Item> {
  /** Writes a batch. Batches never overlap. */
  readonly write: (items: readonly Item[]) => Promise<void>;
  readonly maxSize: number;
  /** How long the first item waits for others. */
  readonly gatherMs: number;
}

/** @returns a function that adds an item to the next batch, and settles as its batch does */
export function createBatcher<Item>({
  write,
  maxSize,
  gatherMs,
}: BatcherOptions<Item>): (item: Item) => Promise<void> {
  let waiting: { item: Item; resolve: () => void; reject: (error: unknown) => void }[] = [];
  let isBusy = false;

  async function writeAll(): Promise<void> {
    while (waiting.length > 0) {
      const batch = waiting.slice(0, maxSize);
      waiting = waiting.slice(maxSize);
      try {
        await write(batch.map(({ item }) => item));
        for (const { resolve } of batch) resolve();
      } catch (error) {
        for (const { reject } of batch) reject(error);
      }
    }
    isBusy = false;
  }

  return (item) =>
    new Promise((resolve, reject) => {
      waiting.push({ item, resolve, reject });
      if (isBusy) return;
      isBusy = true;
      setTimeout(() => void writeAll(), gatherMs);
    });
}
