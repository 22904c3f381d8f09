/** Resolves to `fallback` if the work takes longer than `ms`. The work itself continues. */
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
