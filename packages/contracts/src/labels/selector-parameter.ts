import { z } from 'zod';
import { parseSelector, SelectorSyntaxError } from './selector-syntax.ts';
import type { Selector } from './selector.ts';

/** A query parameter in kubectl's syntax. */
export const selectorParameter: z.ZodType<Selector, string> = z
  .string({ error: 'must be given only once' })
  .transform((text, context) => {
    try {
      return parseSelector(text);
    } catch (error) {
      if (!(error instanceof SelectorSyntaxError)) throw error;
      context.addIssue({ code: 'custom', message: error.message });
      return z.NEVER;
    }
  });
