/** An error that tells the user in one line what failed and what to do. It is shown without a stack. */
export class EmbeddedError extends Error {
  override readonly name = 'EmbeddedError';
}
