import { AppError } from '@tocsin/contracts/errors';
import type { FieldError } from '@tocsin/contracts/errors';
import type { z } from 'zod';
import { nearestWord } from './nearest-word.ts';

/** An answer names at most this many faults: a body of nothing but faults must not make an answer larger than itself. */
const MOST_ERRORS = 100;

/** The 400 of fields at fault, all of them at once. */
export function invalidFields(errors: readonly FieldError[]): AppError {
  const fields = [...new Set(errors.map(({ path }) => path))];
  const shown = fields.length > 10 ? `${fields.slice(0, 10).join(', ')}, …` : fields.join(', ');
  return new AppError('validation_failed', `These fields are not valid: ${shown}.`, {
    errors: errors.slice(0, MOST_ERRORS),
  });
}

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
      .slice(0, MOST_ERRORS)
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
