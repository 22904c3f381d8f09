import { z } from 'zod';
import type { Quota } from './accounts/account.ts';
import { component } from './fields.ts';

/** All errors of the API, with status and a title that is safe to show. */
export const ERRORS = {
  malformed_body: { status: 400, title: 'The request body cannot be read' },
  validation_failed: { status: 400, title: 'The request is not valid' },
  account_required: { status: 400, title: 'An account is required' },
  unauthorized: { status: 401, title: 'A valid API key is required' },
  not_signed_in: { status: 401, title: 'Not signed in' },
  forbidden: { status: 403, title: 'The API key lacks the write scope' },
  source_not_allowed: { status: 403, title: 'The API key may not change this source' },
  quota_exceeded: { status: 403, title: 'The account would exceed a quota' },
  untrusted_origin: { status: 403, title: 'The request comes from another site' },
  owner_required: { status: 403, title: 'Only an owner of the account may do this' },
  member_required: { status: 403, title: 'Viewers have read-only access' },
  operator_required: { status: 403, title: 'Only operators may do this' },
  author_required: { status: 403, title: 'Only the author may do this' },
  not_found: { status: 404, title: 'Not found' },
  method_not_allowed: { status: 405, title: 'Method not allowed' },
  conflict: { status: 409, title: 'Conflict with an existing resource' },
  request_in_flight: { status: 409, title: 'The same request is in progress' },
  gone: { status: 410, title: 'No longer available' },
  precondition_failed: { status: 412, title: 'Changed since it was read' },
  body_too_large: { status: 413, title: 'The request body is too large' },
  unsupported_media_type: { status: 415, title: 'The request body must be JSON' },
  not_triggerable: { status: 422, title: 'Monitors of this type cannot be triggered' },
  idempotency_key_reused: { status: 422, title: 'The Idempotency-Key belongs to another request' },
  rate_limited: { status: 429, title: 'Too many requests' },
  internal: { status: 500, title: 'Internal error' },
  unavailable: { status: 503, title: 'Temporarily unavailable' },
  check_not_answered: { status: 504, title: 'No result in time' },
  delivery_not_attempted: { status: 504, title: 'No notifier sent the webhook in time' },
} as const;
export type ErrorCode = keyof typeof ERRORS;

/** Machine-readable reason why a field is invalid. */
const FIELD_ERROR_CODES = [
  'required',
  'unknown',
  'type',
  'range',
  'format',
  'not_found',
  'conflict',
  'invalid',
] as const;
export type FieldErrorCode = (typeof FIELD_ERROR_CODES)[number];

/** An invalid field. `path` is dotted, such as `assertions.statusCode` or `regions.0`, or empty for the whole body. */
export interface FieldError {
  readonly path: string;
  readonly message: string;
  /** Defaults to `invalid`. */
  readonly code?: FieldErrorCode;
  /** JSON Pointer. Needed only if a name in `path` contains a dot, such as a label. */
  readonly pointer?: string;
}

/** @returns the JSON Pointer (RFC 6901) of a field, empty for the whole body */
export function toPointer(path: readonly string[]): string {
  return path.map((step) => `/${step.replaceAll('~', '~0').replaceAll('/', '~1')}`).join('');
}

export interface ExceededQuota {
  readonly quota: 'assignments' | Quota;
  readonly limit: number;
  /** Usage after the request, as far as it was counted. */
  readonly used: number;
}

interface AppErrorOptions {
  readonly errors?: readonly FieldError[];
  readonly headers?: Readonly<Record<string, string>>;
  /** ID of the conflicting resource. */
  readonly conflictingId?: string;
  readonly quota?: ExceededQuota;
  readonly cause?: unknown;
}

/** An expected error. `detail` is shown to the caller, and `cause` is only logged. */
export class AppError extends Error {
  override readonly name = 'AppError';
  readonly code: ErrorCode;
  readonly errors: readonly FieldError[] | undefined;
  readonly headers: Readonly<Record<string, string>>;
  readonly conflictingId: string | undefined;
  readonly quota: ExceededQuota | undefined;

  constructor(code: ErrorCode, detail: string, options: AppErrorOptions = {}) {
    super(detail, { cause: options.cause });
    this.code = code;
    this.errors = options.errors;
    this.headers = options.headers ?? {};
    this.conflictingId = options.conflictingId;
    this.quota = options.quota;
  }

  get status(): number {
    return ERRORS[this.code].status;
  }
}

export const problemSchema = component('Problem', 'An error (RFC 9457).', {
  type: z
    .string()
    .describe(
      'The error for programs: `urn:tocsin:problem:` and its code with hyphens. `about:blank` if the request was not valid HTTP.',
    ),
  title: z.string().describe('The meaning of the error, always the same.'),
  status: z.int().describe('The HTTP status code.'),
  detail: z.string().describe('What went wrong in this case, for people.'),
  instance: z.string().describe('The id of the request, as in `X-Request-Id`.'),
  errors: z
    .array(
      component('FieldError', 'An invalid field.', {
        path: z
          .string()
          .describe('Dotted, as in `assertions.statusCode` or `regions.0`. Empty for the whole body.'),
        pointer: z
          .string()
          .describe(
            'JSON Pointer (RFC 6901) to the field of the body, or `/` and the parameter of the query.',
          ),
        code: z
          .enum(FIELD_ERROR_CODES)
          .describe('What is wrong with it, for programs. Later versions may add others.'),
        message: z.string().describe('What is wrong with it, for people.'),
      }),
    )
    .optional()
    .describe('All invalid fields.'),
  conflictingId: z
    .uuid()
    .optional()
    .describe('If an `externalId` is taken: the id of the resource that has it.'),
  quota: z.string().optional().describe('The quota that the account would exceed.'),
  limit: z.int().optional().describe('The limit of the quota.'),
  used: z
    .int()
    .optional()
    .describe('What the account would use after the request, as far as it was counted.'),
});
export type Problem = z.infer<typeof problemSchema>;

export function problemType(code: ErrorCode): string {
  return `urn:tocsin:problem:${code.replaceAll('_', '-')}`;
}

/** Creates the problem document of an error. `requestId` becomes `instance`. */
export function toProblem(error: AppError, requestId: string): Problem {
  return {
    type: problemType(error.code),
    title: ERRORS[error.code].title,
    status: error.status,
    detail: error.message,
    instance: requestId,
    ...(error.errors && { errors: error.errors.map(toWireError) }),
    ...(error.conflictingId !== undefined && { conflictingId: error.conflictingId }),
    ...error.quota,
  };
}

function toWireError({ path, message, code = 'invalid', pointer }: FieldError): Required<FieldError> {
  return { path, pointer: pointer ?? toPointer(path === '' ? [] : path.split('.')), code, message };
}
