import { performance } from 'node:perf_hooks';

const SAMPLE_EVERY_MS = 500;
/** Share of the time that the event loop may work before the process counts as short of CPU time. */
const MAX_UTILIZATION = 0.95;

/**
 * Whether this process is short of CPU time: its event loop hardly waited for anything since the last sample. Cheap enough to be asked
 * for each check.
 * @param now milliseconds of a monotonic clock
 */
export function watchLoopLoad(
  now: () => number = () => performance.now(),
  read: typeof performance.eventLoopUtilization = performance.eventLoopUtilization,
): () => boolean {
  let last = read();
  let sampledAt = now();
  let isBusy = false;
  return () => {
    if (now() - sampledAt < SAMPLE_EVERY_MS) return isBusy;
    sampledAt = now();
    const current = read();
    isBusy = read(current, last).utilization > MAX_UTILIZATION;
    last = current;
    return isBusy;
  };
}
