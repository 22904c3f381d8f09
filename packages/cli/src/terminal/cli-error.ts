/** Exit codes. `negative` is a result, not a failure. It means that files and monitors differ, or a monitor is DOWN. */
export const EXIT = {
  ok: 0,
  failed: 1,
  negative: 2,
  conflict: 3,
  deletion_refused: 4,
  unavailable: 5,
  invalid_input: 6,
} as const;
export type ExitCode = (typeof EXIT)[keyof typeof EXIT];
export type FailureCode = Exclude<keyof typeof EXIT, 'ok' | 'negative'>;

interface CliErrorOptions {
  /** Details, one per line. */
  readonly lines?: readonly string[];
  readonly cause?: unknown;
  readonly code?: FailureCode;
  /** True if the same command may succeed later. */
  readonly retryable?: boolean;
}

/** An error that is shown to the user without a stack trace. It means invalid input, unless a code is given. */
export class CliError extends Error {
  override readonly name = 'CliError';
  readonly lines: readonly string[];
  readonly code: FailureCode;
  readonly retryable: boolean;

  constructor(message: string, options: CliErrorOptions = {}) {
    const { lines = [], cause, code = 'invalid_input', retryable = false } = options;
    super(message, { cause });
    this.lines = lines;
    this.code = code;
    this.retryable = retryable;
  }
}
