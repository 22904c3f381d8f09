/** How long a store may take to answer what is asked for people and metrics: a scrape waits less than 2 s in all. */
export const ASK_WITHIN_MS = 1_500;

/** Answers with the work's result, or rejects after `ms`: a store that hangs must not hang whoever asks it. */
export async function withDeadline<Result>(work: Promise<Result>, ms: number, what: string): Promise<Result> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`${what} took longer than ${ms} ms`)), ms);
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
}
