/** How the command ends: `negative` is an answer, not a failure: what was asked differs, or is DOWN. */
export const EXIT = { ok: 0, failed: 1, negative: 2 } as const;
export type ExitCode = (typeof EXIT)[keyof typeof EXIT];

/** An error that is told to the user as it is, without a stack. */
export class CliError extends Error {
  override readonly name = 'CliError';
  /** More about it, each a line of its own. */
  readonly lines: readonly string[];

  constructor(message: string, lines: readonly string[] = [], cause?: unknown) {
    super(message, { cause });
    this.lines = lines;
  }
}
