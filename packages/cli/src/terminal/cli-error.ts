/** Exit codes. `negative` is a result, not a failure. It means that files and monitors differ, or a monitor is DOWN. */
export const EXIT = { ok: 0, failed: 1, negative: 2 } as const;
export type ExitCode = (typeof EXIT)[keyof typeof EXIT];

/** An error that is shown to the user without a stack. */
export class CliError extends Error {
  override readonly name = 'CliError';
  /** Details, one per line. */
  readonly lines: readonly string[];

  constructor(message: string, lines: readonly string[] = [], cause?: unknown) {
    super(message, { cause });
    this.lines = lines;
  }
}
