import type { Colors } from 'picocolors/types.js';
import { CliError } from './cli-error.ts';

/** Progress of long work, shown only on a terminal. */
export interface Progress {
  /** @param done completed part of the total */
  readonly update: (text: string, done?: number) => void;
  readonly stop: () => void;
}

/** Shows progress during work. @param total amount of work, if known */
export async function withProgress<Result>(
  { progress }: Pick<Terminal, 'progress'>,
  text: string,
  total: number | undefined,
  work: (update: Progress['update']) => Promise<Result>,
): Promise<Result> {
  const { update, stop } = progress(text, total);
  try {
    return await work(update);
  } finally {
    stop();
  }
}

/** @throws CliError if confirmation is required but impossible */
export function requireConfirmation({ isInteractive }: Pick<Terminal, 'isInteractive'>, yes: boolean): void {
  if (!isInteractive && !yes)
    throw new CliError(
      'There is no terminal to confirm the changes. To make them without confirmation, add --yes.',
    );
}

/** The environment of a command. Data goes to stdout, everything else to stderr. */
export interface Terminal {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly cwd: string;
  /** Reads standard input to its end. */
  readonly readStdin: () => Promise<Uint8Array>;
  /** True if a user can answer questions. */
  readonly isInteractive: boolean;
  /** Colors for `print`. */
  readonly colors: Colors;
  /** Colors for `note`. */
  readonly noteColors: Colors;
  /** Shows a value as `${name}` in all further output. */
  readonly hide: (name: string, value: string) => void;
  /** Writes a line to stdout. */
  readonly print: (text: string) => void;
  /** Writes a line to stderr. Queries of URLs are masked. */
  readonly note: (text: string) => void;
  /** Writes JSON to stdout. @param space indentation. Without it, the JSON is on one line */
  readonly printJson: (value: unknown, space?: number) => void;
  /** Writes one line of JSON to stderr. */
  readonly noteJson: (value: unknown) => void;
  /** @param total amount of work, if known */
  readonly progress: (text: string, total?: number) => Progress;
  /** Asks a yes-or-no question. An empty answer means no. */
  readonly confirm: (question: string) => Promise<boolean>;
  /** See `runCommand`. */
  readonly run: (command: readonly string[]) => Promise<number>;
  /** Aborted when the command must stop. */
  readonly signal: AbortSignal;
}
