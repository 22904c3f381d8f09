import { ERRORS, problemType } from '@tocsin/contracts/errors';
import type { ErrorCode, Problem } from '@tocsin/contracts/errors';
import { HEADERS, headersWith } from './answer-headers.ts';
import type { JsonObject } from './schema-book.ts';

const PROBLEM = { $ref: '#/components/schemas/Problem' };

/** What is over soon, as `Retry-After` says. */
const WAITING: ReadonlySet<ErrorCode> = new Set(['rate_limited', 'unavailable', 'request_in_flight']);

const FIELD_ERRORS = [{ path: 'interval', message: 'must be an integer from 5 to 86400 (seconds)' }];

/** Error answers that several operations share, under `components.responses`. */
export class ErrorAnswers {
  readonly #named = new Map<string, JsonObject>();

  /** @returns by status, references to the answers with these errors */
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
    this.#named.set(name, toAnswer(sorted));
    return `#/components/responses/${name}`;
  }
}

function toAnswer(codes: readonly ErrorCode[]): JsonObject {
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

/** @param always false: only some of the answer's errors have it */
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
