type ProblemReason =
  'Invalid' | 'ReferenceNotFound' | 'SecretNotFound' | 'SecretForbidden' | 'Conflict' | 'NotAllowed';

/** Why a resource is not accepted, in words for its conditions. */
export class Problem extends Error {
  override readonly name = 'Problem';
  readonly reason: ProblemReason;

  constructor(reason: ProblemReason, message: string) {
    super(message);
    this.reason = reason;
  }
}
