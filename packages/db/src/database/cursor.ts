import { AppError } from '@tocsin/contracts/errors';

/** The fault of a `before` that names no row of the list it pages through. */
export function unknownCursor(message: string): AppError {
  return new AppError('validation_failed', 'These fields are not valid: before.', {
    errors: [{ path: 'before', message }],
  });
}
