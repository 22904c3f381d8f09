import { z } from 'zod';

/** Text that Postgres and JSON can both hold: no NUL, no lone surrogate (design §3). */
export const storableText = z
  .string({ error: (issue) => (issue.input === undefined ? 'is required' : 'must be a string') })
  .refine((text) => !text.includes('\0'), { error: 'must not contain a NUL character', abort: true })
  .refine((text) => text.isWellFormed(), {
    error: 'must not contain a lone surrogate (invalid Unicode)',
    abort: true,
  });

/** Trimmed text of 1 to `max` characters. */
export function label(max: number): z.ZodType<string, string> {
  return storableText
    .overwrite((text) => text.trim())
    .min(1, { error: `must not be blank (1 to ${max} characters)` })
    .max(max, { error: `must be at most ${max} characters` });
}

/** An integer from `min` to `max`; numbers in strings are refused. */
export function boundedInteger(min: number, max: number, unit = ''): z.ZodType<number, number> {
  const error = `must be an integer from ${min} to ${max}${unit && ` (${unit})`}`;
  return z.int({ error }).min(min, { error }).max(max, { error });
}

/** One of a fixed list of words. */
export function oneOf<const Word extends string>(words: readonly Word[]): z.ZodType<Word> {
  return z.enum(words, { error: `must be one of ${words.join(', ')}` });
}
