/** What went wrong and what to do about it, in one line for people; a `main` prints the message alone. */
export class EmbeddedError extends Error {
  override readonly name = 'EmbeddedError';
}
