import { LIMITS } from '@tocsin/contracts/limits';
import type { Request, RequestHandler } from 'express';
import { invalidFields } from './field-errors.ts';

/** A version as an ETag. */
export function etagOf(version: string): string {
  return `"${version}"`;
}

/**
 * The versions that an `If-Match` names, any of which will do; null: it names none, or `*`, which any monitor there is meets. Weak
 * ETags match too, against RFC 9110 section 13.1.1: proxies that compress make ours weak, and they are of what is stored, not of bytes.
 */
export function ifMatchOf(req: Request): ReadonlySet<string> | null {
  const header = req.get('if-match');
  if (header === undefined || header.trim() === '*') return null;
  return new Set([...header.matchAll(/(?:^|,)[ \t]*(?:W\/)?"([^"]*)"/g)].map(([, version = '']) => version));
}

/**
 * For answers whose ETag is of what can be changed, while they tell of events too: Express would say 304 by it, and keep new events
 * from whoever asks.
 */
export const answerInFull: RequestHandler = (req, _res, next) => {
  delete req.headers['if-none-match'];
  next();
};

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
