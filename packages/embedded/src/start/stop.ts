import { onAbandoned } from '../program/on-abandoned.ts';

/** npm forwards signals that the terminal has already sent, so a Ctrl-C can arrive twice. */
const SAME_SIGNAL_MS = 1000;
const FORCED_EXIT_MS = 10_000;

export interface StopHandler {
  /** Aborted on a stop request, which also cancels the start. */
  readonly signal: AbortSignal;
  /** Adds a shutdown step. Steps run in reverse order. */
  readonly onStop: (stop: () => Promise<void>) => void;
  /** Adds a step for the second Ctrl-C. */
  readonly onForce: (force: () => void) => void;
  /** Call this after the start has succeeded or failed. Stop requests then take effect immediately. */
  readonly started: () => void;
  /** Reports a fatal error and requests a stop with exit code 1. */
  readonly fail: (message: string) => void;
  /** Runs the shutdown and exits. */
  readonly run: (exitCode: number) => Promise<void>;
}

/** Handles Ctrl-C, SIGTERM, and the end of npm or the output's reader. A second Ctrl-C forces the exit. */
export function handleStop(say: (line: string) => void): StopHandler {
  const stops: (() => Promise<void>)[] = [];
  const forces: (() => void)[] = [];
  const requested = new AbortController();
  let requestedAt = 0;
  let exitCode = 0;
  let isStarted = false;

  async function run(wantedCode: number): Promise<void> {
    let code = wantedCode;
    for (const stop of stops.splice(0).toReversed()) {
      try {
        await stop();
      } catch (error) {
        say(`Could not stop cleanly: ${error instanceof Error ? error.message : String(error)}`);
        code = 1;
      }
    }
    process.exit(code);
  }

  function request(code = 0): void {
    if (!requested.signal.aborted) {
      requestedAt = Date.now();
      exitCode = code;
      say('\nStopping …');
      requested.abort();
      if (isStarted) void finish();
    } else if (Date.now() - requestedAt > SAME_SIGNAL_MS) {
      requestedAt = Date.now();
      say('Forcing …');
      for (const force of forces) force();
      // The shutdown continues, so that servers can stop cleanly.
      setTimeout(() => process.exit(1), FORCED_EXIT_MS).unref();
    }
  }

  async function finish(): Promise<void> {
    stops.unshift(async () => say('Stopped. The next start uses the same data.'));
    await run(exitCode);
  }

  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => request());
  // A killed npm does not forward signals. Other parents may end earlier on purpose. Exit code 1 makes a service manager restart it.
  onAbandoned(() => request(1), { parent: process.env['npm_lifecycle_event'] !== undefined });
  return {
    signal: requested.signal,
    onStop: (stop) => void stops.push(stop),
    onForce: (force) => void forces.push(force),
    started() {
      isStarted = true;
      if (requested.signal.aborted) void finish();
    },
    fail(message) {
      process.stderr.write(`${message}\n`);
      // A second request would force the exit.
      if (!requested.signal.aborted) request(1);
    },
    run,
  };
}
