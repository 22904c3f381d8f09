import { z } from 'zod';
import { type FieldError, type FieldErrorCode, toPointer } from './errors.ts';
import { nearestWord } from './words.ts';

/** Maximum number of reported unknown keys per object. */
const MAX_KEYS = 100;

/** Converts issues of a schema to errors. Each unknown key has its own path. */
export function toFieldErrors(
  issues: readonly z.core.$ZodIssue[],
  schema: z.ZodType,
  noun: 'field' | 'parameter' = 'field',
): FieldError[] {
  return issues.flatMap((issue) => {
    const path = issue.path.map(String);
    if (issue.code !== 'unrecognized_keys') return [fieldError(path, codeOf(issue), issue.message)];
    const known = fieldsAt(schema, issue.path);
    return issue.keys
      .slice(0, MAX_KEYS)
      .map((key) => fieldError([...path, key], 'unknown', unknownField(key, known, noun)));
  });
}

function fieldError(path: readonly string[], code: FieldErrorCode, message: string): FieldError {
  return { path: path.join('.'), pointer: toPointer(path), code, message };
}

const CODES: Readonly<Partial<Record<z.core.$ZodIssue['code'], FieldErrorCode>>> = {
  invalid_type: 'type',
  invalid_union: 'type',
  invalid_value: 'range',
  too_small: 'range',
  too_big: 'range',
  invalid_format: 'format',
};

function codeOf({ code, message }: z.core.$ZodIssue): FieldErrorCode {
  // An issue has no input. Every schema of a required field has this message.
  return message === 'is required' ? 'required' : (CODES[code] ?? 'invalid');
}

/** Fields of the object at a path in a schema. */
function fieldsAt(schema: z.ZodType, path: readonly PropertyKey[]): readonly string[] {
  let at: unknown = schema;
  for (const step of [...path, null]) {
    while (at instanceof z.ZodNullable || at instanceof z.ZodDefault || at instanceof z.ZodOptional)
      at = at.unwrap();
    if (step === null) break;
    if (at instanceof z.ZodArray) at = at.element;
    else at = at instanceof z.ZodObject ? (at.shape as Record<PropertyKey, unknown>)[step] : undefined;
  }
  return at instanceof z.ZodObject ? Object.keys(at.shape) : [];
}

function unknownField(key: string, known: readonly string[], noun: string): string {
  const near = nearestWord(key, known);
  const hint = near === null ? '' : ` (did you mean \`${near}\`?)`;
  if (known.length === 0) return `is not a known ${noun}: this request takes none`;
  return `is not a known ${noun}${hint}; known ${noun}s: ${known.join(', ')}`;
}
