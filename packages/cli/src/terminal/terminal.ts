import type { Colors } from 'picocolors/types.js';

/** Long work that is under way, shown on a terminal and nowhere else. */
export interface Progress {
  /** @param done how much of the total is */
  readonly update: (text: string, done?: number) => void;
  readonly stop: () => void;
}

/** What a command has of the world around it. Data goes to stdout; all else to stderr. */
export interface Terminal {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly cwd: string;
  /** Whether there is somebody to ask. */
  readonly isInteractive: boolean;
  /** Of what is printed; plain where stdout is no terminal, or by `NO_COLOR`. */
  readonly colors: Colors;
  readonly print: (text: string) => void;
  readonly note: (text: string) => void;
  /** @param total how much there is to do, where that is known */
  readonly progress: (text: string, total?: number) => Progress;
  /** Asks until it is answered; an empty answer is no. */
  readonly confirm: (question: string) => Promise<boolean>;
  /** Aborted where the command is to end. */
  readonly signal: AbortSignal;
}
