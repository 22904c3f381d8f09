import { AppError, type ErrorCode, ERRORS, type Problem, toProblem } from '@tocsin/contracts/errors';
import type { ResponseHeader } from '@tocsin/contracts/routes/route';
import type { JsonObject } from './schemas.ts';

type HeaderName =
  | ResponseHeader
  | 'X-Request-Id'
  | 'Tocsin-Version'
  | 'Retry-After'
  | 'WWW-Authenticate'
  | 'RateLimit'
  | 'RateLimit-Policy';

const text = { type: 'string' };

/** Response headers, under `components.headers`. A `required` header is always present. */
export const HEADERS: Readonly<Record<HeaderName, JsonObject>> = {
  'X-Request-Id': {
    description:
      "The id of the request in logs and errors: the caller's `X-Request-Id` if that has 1 to 128 letters, digits, dots, hyphens and underscores.",
    required: true,
    schema: { type: 'string', pattern: String.raw`^[\w.-]{1,128}$` },
  },
  'Tocsin-Version': {
    description: 'The version of the server, such as `1.2.3`.',
    required: true,
    schema: text,
  },
  Location: { description: 'URL of the created resource, or of the redirect.', required: true, schema: text },
  ETag: {
    description:
      'Version of the resource. It changes with the fields that you can write, not with checks or deliveries. For the list of monitors, it changes with everything that the list shows. For a set, it identifies the plan.',
    required: true,
    schema: text,
  },
  'Idempotency-Replayed': {
    description: '`true` if this repeats the response to an earlier identical request.',
    schema: { type: 'string', const: 'true' },
  },
  'Set-Cookie': { description: 'The session cookie, if a session was started.', schema: text },
  'Retry-After': {
    description: 'Seconds to wait before retrying.',
    required: true,
    schema: { type: 'string', pattern: String.raw`^\d+$` },
  },
  'WWW-Authenticate': {
    description: '`Bearer`, with `error="invalid_token"` if the key is unknown or has expired.',
    required: true,
    schema: { type: 'string', pattern: '^Bearer' },
  },
  RateLimit: {
    description:
      'The remaining requests, and the seconds until the limit resets. Present if requests are limited.',
    schema: text,
  },
  'RateLimit-Policy': {
    description: 'The limit of the key or session. Present if requests are limited.',
    schema: text,
  },
};

/** The `headers` of a response: those that every response has, and these. */
export function headersWith(...names: readonly HeaderName[]): JsonObject {
  return Object.fromEntries(
    ['X-Request-Id', 'Tocsin-Version', ...names].map((name) => [
      name,
      { $ref: `#/components/headers/${name}` },
    ]),
  );
}

/** Errors with `Retry-After`. */
const TEMPORARY: ReadonlySet<ErrorCode> = new Set(['rate_limited', 'unavailable', 'request_in_flight']);

const FIELD_ERRORS = [{ path: 'interval', message: 'must be an integer from 5 to 86400 (seconds)' }];

/** References to the responses with these errors, by status. @param named `components.responses`, which gets the responses */
export function errorResponses(codes: readonly ErrorCode[], named: Record<string, JsonObject>): JsonObject {
  const byStatus: Record<number, JsonObject> = {};
  for (const status of new Set(codes.map((code) => ERRORS[code].status))) {
    const same = codes.filter((code) => ERRORS[code].status === status).toSorted();
    const name = same.map(pascalCase).join('Or');
    named[name] = errorResponse(same);
    byStatus[status] = { $ref: `#/components/responses/${name}` };
  }
  return byStatus;
}

function errorResponse(codes: readonly ErrorCode[]): JsonObject {
  const temporary = codes.filter((code) => TEMPORARY.has(code));
  const retryAfter =
    temporary.length === codes.length
      ? { $ref: '#/components/headers/Retry-After' }
      : { ...HEADERS['Retry-After'], required: false };
  return {
    description: codes.map((code) => `${ERRORS[code].title}.`).join(' '),
    headers: {
      ...headersWith(...(codes.includes('unauthorized') ? (['WWW-Authenticate'] as const) : [])),
      'Retry-After': temporary.length > 0 ? retryAfter : undefined,
    },
    content: {
      'application/problem+json': {
        schema: { $ref: '#/components/schemas/Problem' },
        examples: Object.fromEntries(
          codes.map((code) => [code, { summary: ERRORS[code].title, value: example(code) }]),
        ),
      },
    },
  };
}

function example(code: ErrorCode): Problem {
  const isOfFields = code === 'validation_failed';
  const detail = isOfFields ? 'These fields are invalid: interval.' : `${ERRORS[code].title}.`;
  const error = new AppError(code, detail, isOfFields ? { errors: FIELD_ERRORS } : {});
  return toProblem(error, '5c1f4d1b-2a3c-4e2d-8f5a-019a9f0e5d2e');
}

function pascalCase(code: string): string {
  return code.replaceAll(/(?:^|_)([a-z])/g, (_, letter: string) => letter.toUpperCase());
}
