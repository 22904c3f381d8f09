import { LIMITS } from '@tocsin/contracts/limits';
import type { Request } from 'express';
import { invalidFields } from './field-errors.ts';

const HEADER = 'Idempotency-Key';
const KEY = /^[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?$/;
/** As structured fields have it (RFC 9651 section 3.3.3): quoted, `"` and `\` escaped. */
const QUOTED = /^"((?:[^"\\]|\\["\\])*)"$/;

/**
 * The `Idempotency-Key` of a request, quoted as the IETF draft has it or not; null: none.
 * @throws AppError validation_failed
 */
export function idempotencyKeyOf(req: Request): string | null {
  const header = req.get(HEADER);
  if (header === undefined) return null;
  const quoted = QUOTED.exec(header)?.[1];
  const key = quoted === undefined ? header : quoted.replaceAll(/\\(.)/g, '$1');
  if (KEY.test(key) && key.length <= LIMITS.idempotencyKeyCharacters) return key;
  const message = `must be 1 to ${LIMITS.idempotencyKeyCharacters} visible ASCII characters, such as a UUID`;
  throw invalidFields([{ path: HEADER, message }]);
}
