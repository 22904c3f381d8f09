import type { ChildProcess } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';
import { isAlive, type StopSteps, stopProcess } from './processes.ts';

/**
 * How a server responds while it starts. `loading`: it loads or recovers its data. `refused`: it does not accept the password. `silent`:
 * it does not respond.
 */
export type Readiness = 'ready' | 'loading' | 'refused' | 'silent';

/** What a caller that starts a server may want. */
export interface StartOptions {
  /** Ends the start: the server is stopped, and the start throws the reason of the signal. */
  readonly signal?: AbortSignal | undefined;
  /** Called once if the server is loading its data for several seconds. */
  readonly onLoading?: (() => void) | undefined;
}

interface ReadinessOptions extends StartOptions {
  /** Must end by itself within seconds. */
  readonly probe: () => Promise<Readiness>;
  /** How to stop a server that is not ready. */
  readonly stopSteps: StopSteps;
  /** A server that has not responded for this long is stopped. Default: a minute. */
  readonly silentTimeoutMs?: number;
}

const PROBE_EVERY_MS = 20;
const SILENT_TIMEOUT_MS = 60_000;
const LOADING_NOTICE_MS = 5_000;

/**
 * Waits until a server is ready. As long as the server responds that it is loading its data, there is no limit: on a slow disk that takes
 * minutes, and a server that is killed meanwhile would have to begin again.
 * @returns null, or why the server is not ready. Unless it is ready, its process has ended
 * @throws the reason of the signal
 */
export async function waitUntilReady(child: ChildProcess, options: ReadinessOptions): Promise<string | null> {
  const { signal } = options;
  const stop = async (): Promise<void> => {
    if (child.pid !== undefined && isAlive(child)) await stopProcess(child.pid, options.stopSteps);
  };
  // At once, so that it also ends a probe that waits for a response.
  const onAbort = (): void => void stop().catch(() => undefined);
  signal?.addEventListener('abort', onAbort);
  let isReady = false;
  try {
    const failure = await probeUntilReady(child, options);
    signal?.throwIfAborted();
    isReady = failure === null;
    return failure;
  } finally {
    signal?.removeEventListener('abort', onAbort);
    if (!isReady) await stop();
  }
}

async function probeUntilReady(child: ChildProcess, options: ReadinessOptions): Promise<string | null> {
  const { signal, probe, onLoading, silentTimeoutMs = SILENT_TIMEOUT_MS } = options;
  if (child.pid === undefined) return 'it cannot be executed';
  const startedAt = performance.now();
  let respondedAt = startedAt;
  let isNoticed = false;
  while (isAlive(child)) {
    if (signal?.aborted === true) return 'its start was ended';
    const readiness = await probe();
    const now = performance.now();
    if (readiness === 'ready') return null;
    if (readiness === 'refused') return 'it does not accept its stored password';
    if (readiness === 'loading') respondedAt = now;
    else if (now - respondedAt >= silentTimeoutMs)
      return `it did not respond for ${silentTimeoutMs / 1000} s`;
    if (readiness === 'loading' && !isNoticed && now - startedAt > LOADING_NOTICE_MS) {
      isNoticed = true;
      onLoading?.();
    }
    await sleep(PROBE_EVERY_MS);
  }
  return 'it has exited';
}
