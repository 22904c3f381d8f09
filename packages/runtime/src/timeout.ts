/** Resolves to `fallback` if the work takes longer than `ms`. The work continues. */
export async function withTimeout<Value, Fallback>(
  work: Promise<Value>,
  ms: number,
  fallback: Fallback,
): Promise<Value | Fallback> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<Fallback>((resolve) => {
    timer = setTimeout(resolve, ms, fallback);
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
}

const LATE = Symbol('late');

/** @throws Error that mentions `what` if the work takes longer than `ms`. The work continues */
export async function withDeadline<Value>(work: Promise<Value>, ms: number, what: string): Promise<Value> {
  const result = await withTimeout(work, ms, LATE);
  if (result === LATE) throw new Error(`${what} took longer than ${ms} ms`);
  return result;
}
