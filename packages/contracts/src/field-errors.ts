import type { z } from 'zod';
import type { FieldError } from './errors.ts';
import { nearestWord } from './words.ts';

/** Unknown keys of one object that are named: a body of nothing but faults must not make an answer larger than itself. */
const MOST_KEYS = 100;

/** What a schema found wrong, with dotted paths; an unknown key is its own path. */
export function toFieldErrors(
  issues: readonly z.core.$ZodIssue[],
  fieldsAt: (path: string) => readonly string[],
): FieldError[] {
  return issues.flatMap((issue) => {
    const path = issue.path.map(String);
    if (issue.code !== 'unrecognized_keys') return [{ path: path.join('.'), message: issue.message }];
    const known = fieldsAt(path.join('.'));
    return issue.keys
      .slice(0, MOST_KEYS)
      .map((key) => ({ path: [...path, key].join('.'), message: unknownField(key, known) }));
  });
}

/** The fields of an object schema, for messages about unknown ones. */
export function fieldsOf(schema: z.ZodObject): readonly string[] {
  return Object.keys(schema.shape);
}

function unknownField(key: string, known: readonly string[]): string {
  const near = nearestWord(key, known);
  const hint = near === null ? '' : ` (did you mean \`${near}\`?)`;
  if (known.length === 0) return 'is not a known field: this request takes none';
  return `is not a known field${hint}; known fields: ${known.join(', ')}`;
}
