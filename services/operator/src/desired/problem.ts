type ProblemReason =
  | 'Invalid'
  | 'ReferenceNotFound'
  | 'SecretNotFound'
  | 'SecretForbidden'
  | 'Conflict'
  | 'NotAllowed'
  | 'QuotaExceeded';

/** Why a resource is not accepted, in words for its conditions. */
export class Problem extends Error {
  override readonly name = 'Problem';
  readonly reason: ProblemReason;

  constructor(reason: ProblemReason, message: string) {
    super(message);
    this.reason = reason;
  }
}

/** Returns a Problem as a value. @throws any other error */
export function problemOf(error: unknown): Problem {
  if (error instanceof Problem) return error;
  throw error;
}
