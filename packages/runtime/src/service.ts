import { parseEnv, SettingsError } from './env.ts';
import { errorCode } from './error-code.ts';
import { createLogger } from './logger.ts';
import type { Logger } from './logger.ts';
import { secretValues, settings } from './settings.ts';
import { isExportingTraces, startTracing } from './tracing.ts';

const HARD_EXIT_MS = 30_000;

export interface RunningService {
  /** Finishes the work in progress and closes connections. Called once. */
  stop(): Promise<void>;
  /** Sent to the parent process with `{ type: 'ready' }`. */
  readonly ready?: Readonly<Record<string, unknown>>;
}

/**
 * Runs a service until SIGTERM or SIGINT, or until the parent process closes the IPC channel. Exits with 0 after a clean stop, otherwise with
 * 1. A `SettingsError` prints only its message. Errors while sending traces do not stop the service.
 */
export async function runService(
  service: string,
  start: (logger: Logger) => Promise<RunningService>,
): Promise<void> {
  ignoreClosedOutput();
  const logger = tryCreateLogger(service);
  let running: RunningService | undefined;
  let stopTracing: (() => Promise<void>) | undefined;
  let stopping = false;
  let exitCode = 0;

  /** A later failure can still change the exit code to 1. */
  async function stop(reason: string, code: number): Promise<void> {
    exitCode = Math.max(exitCode, code);
    if (stopping) return;
    stopping = true;
    logger.info('Stopping', { reason });
    setTimeout(() => {
      logger.error(`Stopping took more than ${HARD_EXIT_MS} ms. Exiting now.`);
      process.exit(1);
    }, HARD_EXIT_MS);
    // While the service starts, there is nothing to stop yet.
    if (running !== undefined) await stopRunning(running);
  }

  function fail(what: string, error: unknown): void {
    if (isExportingTraces()) {
      logger.warn('Unexpected error while sending traces. The service continues.', { error });
      return;
    }
    logger.error(what, { error });
    void stop(what.toLowerCase(), 1);
  }

  async function stopRunning(service: RunningService): Promise<void> {
    try {
      await service.stop();
      await stopTracing?.();
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
    stopTracing = await startTracing(service, logger);
    running = await start(logger);
  } catch (error) {
    exitOnFailedStart(error, logger);
  }
  if (stopping) return stopRunning(running);
  logger.info('Started', { ...running.ready });
  process.send?.({ type: 'ready', ...running.ready });
}

function tryCreateLogger(service: string): Logger {
  try {
    const { LOG_LEVEL: level, LOG_FORMAT: format } = parseEnv(
      settings.pick({ LOG_LEVEL: true, LOG_FORMAT: true }),
    );
    return createLogger({ service, level, format, secrets: secretValues() });
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

/** If the reader of the output ends first, an unwritable line must not prevent a clean stop. */
function ignoreClosedOutput(): void {
  for (const stream of [process.stdout, process.stderr]) {
    stream.on('error', (error) => {
      if (errorCode(error) !== 'EPIPE') throw error;
    });
  }
}
