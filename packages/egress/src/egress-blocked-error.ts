/** A connection that the egress guard refused (design §6); its message says which address and how to allow it. */
export class EgressBlockedError extends Error {
  override readonly name = 'EgressBlockedError';
  readonly code = 'EGRESS_BLOCKED';
}
