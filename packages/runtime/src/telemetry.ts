import { AsyncLocalStorage } from 'node:async_hooks';

const telemetry = new AsyncLocalStorage<true>();

/**
 * Runs work of telemetry, e.g. an export of traces. Whatever it leaves running is known as its own, so that an error that
 * nobody handles does not end the service: see `runService`. Costs nothing until it is called for the first time.
 */
export function runTelemetry<Result>(work: () => Result): Result {
  return telemetry.run(true, work);
}

/** Whether the code that runs, or the error that was just thrown or rejected, belongs to telemetry. */
export function isTelemetry(): boolean {
  return telemetry.getStore() === true;
}
