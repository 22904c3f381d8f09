import type { FieldError, Problem } from '@tocsin/contracts/errors';

/** An answer of the API that is no success (RFC 9457), or no answer at all. */
export class ApiError extends Error {
  override readonly name = 'ApiError';
  /** 0: no answer came. */
  readonly status: number;
  readonly title: string;
  readonly fields: readonly FieldError[];
  /** By which the log of the api finds the request; null where no answer came. */
  readonly requestId: string | null;

  constructor(problem: Pick<Problem, 'status' | 'title' | 'detail'> & Partial<Problem>) {
    super(problem.detail);
    this.status = problem.status;
    this.title = problem.title;
    this.fields = problem.errors ?? [];
    this.requestId = problem.instance ?? null;
  }
}

/** What to tell a person of an error, whatever it is. */
export function describeError(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** @param status as `404` */
export function isStatus(error: unknown, status: number): boolean {
  return error instanceof ApiError && error.status === status;
}

/** Whether the error says which fields are wrong, so that it is shown beside them. */
export function isAboutFields(error: unknown): boolean {
  return error instanceof ApiError && error.fields.length > 0;
}
