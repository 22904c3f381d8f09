import { once } from 'node:events';
import { createInterface } from 'node:readline/promises';

/** Asks for a yes. An input that ends, as by Ctrl-D, or Ctrl-C at the question is a no. */
export async function confirm(
  question: string,
  input: NodeJS.ReadableStream,
  output: NodeJS.WritableStream,
  signal: AbortSignal,
): Promise<boolean> {
  const lines = createInterface({ input, output });
  const ended = once(lines, 'close').then(() => null);
  // Node 20 never settles a question whose input ends; later versions reject it.
  const answered = lines.question(`${question} [y/N] `, { signal }).catch((error: unknown) => {
    if (signal.aborted) throw error;
    return null;
  });
  try {
    const answer = await Promise.race([answered, ended]);
    if (answer === null) output.write('\n');
    return /^y(es)?$/i.test(answer?.trim() ?? '');
  } finally {
    lines.close();
  }
}
