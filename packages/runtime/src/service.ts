import { parseEnv, SettingsError } from './env.ts';
import { errorCode } from './error-code.ts';
import { createLogger } from './logger.ts';
import type { Logger } from './logger.ts';
import { secretValues, settings } from './settings.ts';
import { isTelemetry } from './telemetry.ts';

const HARD_EXIT_MS = 30_000;

export interface RunningService {
  /** Stops taking work, finishes what runs, closes what is open. Called once. */
  stop(): Promise<void>;
  /** Told to the parent process, with `{ type: 'ready' }`, where there is one. */
  readonly ready?: Readonly<Record<string, unknown>>;
}

/**
 * The life of a service's process (design §4, "SIGTERM"): starts it with a logger, stops it once on SIGTERM, SIGINT, or when
 * the parent that holds its IPC channel is gone, and exits: 0 after a clean stop, 1 after a failure or if stopping takes
 * over 30 s. A `SettingsError` is printed as its message alone. Errors of telemetry never end it.
 */
export async function runService(
  service: string,
  start: (logger: Logger) => Promise<RunningService>,
): Promise<void> {
  ignoreClosedOutput();
  const logger = tryCreateLogger(service);
  let running: RunningService | undefined;
  let stopping = false;
  let exitCode = 0;

  /** Runs to the end once; a later failure can still turn the exit code to 1. */
  async function stop(reason: string, code: number): Promise<void> {
    exitCode = Math.max(exitCode, code);
    if (stopping) return;
    stopping = true;
    logger.info('Stopping', { reason });
    setTimeout(() => {
      logger.error(`Not stopped after ${HARD_EXIT_MS} ms: exiting`);
      process.exit(1);
    }, HARD_EXIT_MS);
    // Asked to stop while still starting: `begin` stops it as soon as there is something to stop.
    if (running === undefined) return;
    await stopRunning(running);
  }

  function fail(what: string, error: unknown): void {
    if (isTelemetry()) {
      logger.warn('Unexpected error while sending traces; the service goes on', { error });
      return;
    }
    logger.error(what, { error });
    void stop(what.toLowerCase(), 1);
  }

  async function stopRunning(service: RunningService): Promise<void> {
    try {
      await service.stop();
      logger.info('Stopped');
    } catch (error) {
      logger.error('Stopping failed', { error });
      exitCode = 1;
    }
    process.exit(exitCode);
  }

  process.on('SIGTERM', () => void stop('SIGTERM', 0));
  process.on('SIGINT', () => void stop('SIGINT', 0));
  if (process.channel !== undefined)
    process.on('disconnect', () => void stop('the parent process is gone', 0));
  process.on('uncaughtException', (error) => fail('Uncaught exception', error));
  process.on('unhandledRejection', (error) => fail('Unhandled rejection', error));

  try {
    running = await start(logger);
  } catch (error) {
    exitOnFailedStart(error, logger);
  }
  if (stopping) {
    await stopRunning(running);
    return;
  }
  logger.info('Started', { ...running.ready });
  process.send?.({ type: 'ready', ...running.ready });
}

function tryCreateLogger(service: string): Logger {
  try {
    const env = parseEnv(settings.pick({ LOG_LEVEL: true, LOG_FORMAT: true }));
    return createLogger({
      service,
      level: env.LOG_LEVEL,
      format: env.LOG_FORMAT,
      secrets: secretValues(),
    });
  } catch (error) {
    return exitOnFailedStart(error, undefined);
  }
}

function exitOnFailedStart(error: unknown, logger: Logger | undefined): never {
  if (error instanceof SettingsError) process.stderr.write(`${error.message}\n`);
  else if (logger === undefined) process.stderr.write(`${String(error)}\n`);
  else logger.error('Could not start', { error });
  process.exit(1);
}

/** Whoever read our output may be gone before us; a line that nobody reads must not keep us from stopping cleanly. */
function ignoreClosedOutput(): void {
  for (const stream of [process.stdout, process.stderr]) {
    stream.on('error', (error) => {
      if (errorCode(error) !== 'EPIPE') throw error;
    });
  }
}
