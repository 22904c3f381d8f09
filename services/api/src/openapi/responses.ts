import { type ErrorCode, ERRORS, type Problem, problemType } from '@tocsin/contracts/errors';
import type { ResponseHeader } from '@tocsin/contracts/routes/route';
import type { JsonObject } from './schemas.ts';

type HeaderName =
  ResponseHeader | 'X-Request-Id' | 'Retry-After' | 'WWW-Authenticate' | 'RateLimit' | 'RateLimit-Policy';

const text = { type: 'string' };

/** Response headers, under `components.headers`. A `required` header is always present. */
export const HEADERS: Readonly<Record<HeaderName, JsonObject>> = {
  'X-Request-Id': {
    description:
      "The id of the request in logs and errors: the caller's `X-Request-Id` if that has 1 to 128 letters, digits, dots, hyphens and underscores.",
    required: true,
    schema: { type: 'string', pattern: String.raw`^[\w.-]{1,128}$` },
  },
  Location: { description: 'URL of the created resource, or of the redirect.', required: true, schema: text },
  ETag: {
    description:
      'The version of what is returned. That of a monitor changes with its fields, not with checks. That of a set identifies the plan.',
    required: true,
    schema: text,
  },
  'Idempotency-Replayed': {
    description: '`true` if the response is that of an earlier identical request.',
    schema: { type: 'string', const: 'true' },
  },
  'Set-Cookie': { description: 'The session cookie, if a session began.', schema: text },
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
    description: 'What remains of the limit, and for how many seconds. Present if requests are limited.',
    schema: text,
  },
  'RateLimit-Policy': {
    description: 'The limit of the key or session. Present if requests are limited.',
    schema: text,
  },
};

/** The `headers` of a response: the request's id and these. */
export function headersWith(...names: readonly HeaderName[]): JsonObject {
  return Object.fromEntries(
    ['X-Request-Id', ...names].map((name) => [name, { $ref: `#/components/headers/${name}` }]),
  );
}

const PROBLEM = { $ref: '#/components/schemas/Problem' };

/** Temporary errors, which have `Retry-After`. */
const WAITING: ReadonlySet<ErrorCode> = new Set(['rate_limited', 'unavailable', 'request_in_flight']);

const FIELD_ERRORS = [{ path: 'interval', message: 'must be an integer from 5 to 86400 (seconds)' }];

/** Error responses that several operations share, under `components.responses`. */
export class ErrorResponses {
  readonly #named = new Map<string, JsonObject>();

  /** @returns by status, references to the responses with these errors */
  write(codes: readonly ErrorCode[]): JsonObject {
    const statuses = [...new Set(codes.map((code) => ERRORS[code].status))].sort((a, b) => a - b);
    return Object.fromEntries(
      statuses.map((status) => [
        status,
        { $ref: this.#note(codes.filter((code) => ERRORS[code].status === status)) },
      ]),
    );
  }

  get named(): JsonObject {
    return Object.fromEntries([...this.#named].sort(([a], [b]) => (a < b ? -1 : 1)));
  }

  #note(codes: readonly ErrorCode[]): string {
    const sorted = codes.toSorted();
    const name = sorted.map(pascalCase).join('Or');
    this.#named.set(name, toResponse(sorted));
    return `#/components/responses/${name}`;
  }
}

function toResponse(codes: readonly ErrorCode[]): JsonObject {
  const waiting = codes.filter((code) => WAITING.has(code));
  return {
    description: codes.map((code) => `${ERRORS[code].title}.`).join(' '),
    headers: {
      ...headersWith(...(codes.includes('unauthorized') ? (['WWW-Authenticate'] as const) : [])),
      ...(waiting.length > 0 && { 'Retry-After': retryAfter(waiting.length === codes.length) }),
    },
    content: {
      'application/problem+json': {
        schema: PROBLEM,
        examples: Object.fromEntries(
          codes.map((code) => [code, { summary: ERRORS[code].title, value: example(code) }]),
        ),
      },
    },
  };
}

/** @param always false: only some errors of the response have it */
function retryAfter(always: boolean): JsonObject {
  return always
    ? { $ref: '#/components/headers/Retry-After' }
    : { ...HEADERS['Retry-After'], required: false };
}

function example(code: ErrorCode): Problem {
  const { status, title } = ERRORS[code];
  const isOfFields = code === 'validation_failed';
  return {
    type: problemType(code),
    title,
    status,
    detail: isOfFields ? 'These fields are not valid: interval.' : `${title}.`,
    instance: '5c1f4d1b-2a3c-4e2d-8f5a-019a9f0e5d2e',
    ...(isOfFields && { errors: FIELD_ERRORS }),
  };
}

function pascalCase(code: string): string {
  return code.replaceAll(/(?:^|_)([a-z])/g, (_, letter: string) => letter.toUpperCase());
}
