import { performance } from 'node:perf_hooks';

const SAMPLE_LATENESS_EVERY_MS = 100;
const SAMPLE_LOAD_EVERY_MS = 500;
const MAX_UTILIZATION = 0.95;
/** If the event loop is this late, checks wait for this process instead of their targets. */
export const TOO_LATE_MS = 100;
export const IN_TIME_MS = 50;
/** Even this many checks keep a process busy if each takes only milliseconds of its time. */
export const MIN_CONCURRENCY = 50;

/** Returns a function that reports whether the event loop was hardly idle since the last sample. It is cheap enough for each check. */
export function watchLoopLoad(
  now: () => number = () => performance.now(),
  read: typeof performance.eventLoopUtilization = performance.eventLoopUtilization,
): () => boolean {
  let last = read();
  let sampledAt = now();
  let isBusy = false;
  return () => {
    if (now() - sampledAt < SAMPLE_LOAD_EVERY_MS) return isBusy;
    sampledAt = now();
    const current = read();
    isBusy = read(current, last).utilization > MAX_UTILIZATION;
    last = current;
    return isBusy;
  };
}

/** Measures how late the event loop runs a timer. @returns a function that stops the measurement */
export function watchLateness(onSample: (lateMs: number) => void): () => void {
  let dueAt = performance.now() + SAMPLE_LATENESS_EVERY_MS;
  const timer = setInterval(() => {
    const now = performance.now();
    onSample(Math.max(0, now - dueAt));
    dueAt = now + SAMPLE_LATENESS_EVERY_MS;
  }, SAMPLE_LATENESS_EVERY_MS);
  timer.unref();
  return () => clearInterval(timer);
}
