import { AppError } from '@tocsin/contracts/errors';
import type { FieldError } from '@tocsin/contracts/errors';

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
