import { onAbandoned } from '../program/on-abandoned.ts';

/** Between two signals of one Ctrl-C: npm passes on the one that the terminal sent to us as well. */
const SAME_SIGNAL_MS = 1000;
const FORCED_EXIT_MS = 10_000;

/** Thrown by `check` to leave the start early. */
class StopRequested extends Error {
  override readonly name = 'StopRequested';
}

export interface StopHandler {
  readonly requested: boolean;
  /** Something to do at the end; the last one given is done first. */
  readonly onStop: (stop: () => Promise<void>) => void;
  /** What the second Ctrl-C does. */
  readonly onForce: (force: () => void) => void;
  /** Throws if we were asked to stop while starting. */
  readonly check: () => void;
  /** The start is over, in whatever way: from now on a request is carried out at once. */
  readonly started: () => void;
  /** Stops everything and exits with this code. */
  readonly run: (exitCode: number) => Promise<void>;
}

/** Stops everything in order on Ctrl-C, on SIGTERM, or when npm or the reader of our output is gone; a second Ctrl-C forces. */
export function handleStop(say: (line: string) => void): StopHandler {
  const stops: (() => Promise<void>)[] = [];
  const forces: (() => void)[] = [];
  let requestedAt: number | null = null;
  let exitCode = 0;
  let isStarted = false;

  async function run(wantedCode: number): Promise<void> {
    let code = wantedCode;
    for (const stop of stops.splice(0).toReversed()) {
      try {
        await stop();
      } catch (error) {
        say(`Stopping failed: ${error instanceof Error ? error.message : String(error)}`);
        code = 1;
      }
    }
    process.exit(code);
  }

  function request(code = 0): void {
    if (requestedAt === null) {
      requestedAt = Date.now();
      exitCode = code;
      say('\nStopping …');
      if (isStarted) void finish();
    } else if (Date.now() - requestedAt > SAME_SIGNAL_MS) {
      requestedAt = Date.now();
      say('Forcing …');
      for (const force of forces) force();
      // The servers end in order even so; they get a little time.
      setTimeout(() => process.exit(1), FORCED_EXIT_MS).unref();
    }
  }

  async function finish(): Promise<void> {
    stops.unshift(async () => say('Stopped. The next start finds the data again.'));
    await run(exitCode);
  }

  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => request());
  // A killed npm does not forward signals. Any other parent may end before us on purpose. Not 0: a service manager starts us again.
  onAbandoned(() => request(1), { parent: process.env['npm_lifecycle_event'] !== undefined });
  return {
    get requested() {
      return requestedAt !== null;
    },
    onStop: (stop) => void stops.push(stop),
    onForce: (force) => void forces.push(force),
    check() {
      if (requestedAt !== null) throw new StopRequested('asked to stop');
    },
    started() {
      isStarted = true;
      if (requestedAt !== null) void finish();
    },
    run,
  };
}
