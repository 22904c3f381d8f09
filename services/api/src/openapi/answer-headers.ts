import type { AnswerHeader } from '@tocsin/contracts/api/operation';
import type { JsonObject } from './schema-book.ts';

type HeaderName =
  AnswerHeader | 'X-Request-Id' | 'Retry-After' | 'WWW-Authenticate' | 'RateLimit' | 'RateLimit-Policy';

const text = { type: 'string' };

/** The headers of answers, under `components.headers`. One that is `required` is there each time. */
export const HEADERS: Readonly<Record<HeaderName, JsonObject>> = {
  'X-Request-Id': {
    description:
      "The request's id, as logs and problems name it: the caller's own `X-Request-Id` where it is of up to 128 letters, digits, dots, hyphens and underscores.",
    required: true,
    schema: { type: 'string', pattern: String.raw`^[\w.-]{1,128}$` },
  },
  Location: { description: 'Where what was made is, or where to go on.', required: true, schema: text },
  ETag: {
    description:
      'The version of what is answered. That of a monitor changes with its fields, not with checks; that of a set is of what was to be done.',
    required: true,
    schema: text,
  },
  'Idempotency-Replayed': {
    description: '`true` where the request was answered before, and this is what was said then.',
    schema: { type: 'string', const: 'true' },
  },
  'Set-Cookie': { description: 'The cookie of the session, where one began.', schema: text },
  'Retry-After': {
    description: 'Seconds to wait before the next try.',
    required: true,
    schema: { type: 'string', pattern: String.raw`^\d+$` },
  },
  'WWW-Authenticate': {
    description: 'How to authenticate: `Bearer`, with `error="invalid_token"` where the key is no good.',
    required: true,
    schema: { type: 'string', pattern: '^Bearer' },
  },
  RateLimit: {
    description: 'What is left of the limit, and for how many seconds; there where requests are limited.',
    schema: text,
  },
  'RateLimit-Policy': {
    description: 'The limit of the key or session; there where requests are limited.',
    schema: text,
  },
};

/** The `headers` of an answer: an id always, and these. */
export function headersWith(...names: readonly HeaderName[]): JsonObject {
  return Object.fromEntries(
    ['X-Request-Id', ...names].map((name) => [name, { $ref: `#/components/headers/${name}` }]),
  );
}
