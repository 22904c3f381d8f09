import type { ChildProcess } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';
import { isAlive, type StopSteps, stopProcess } from './processes.ts';

/**
 * Response of a starting server. A `loading` server loads or recovers its data. A `refused` server rejects the password. A `silent` server
 * does not respond.
 */
export type Readiness = 'ready' | 'loading' | 'refused' | 'silent';

export interface StartOptions {
  /** Cancels the start. The server is stopped, and the reason of the signal is thrown. */
  readonly signal?: AbortSignal | undefined;
  /** Called once if the server loads its data for several seconds. */
  readonly onLoading?: (() => void) | undefined;
}

interface ReadinessOptions extends StartOptions {
  /** Must settle within seconds. */
  readonly probe: () => Promise<Readiness>;
  /** Steps to stop a server that is not ready. */
  readonly stopSteps: StopSteps;
  /** Stops a server that has not responded for this time. Defaults to one minute. */
  readonly silentTimeoutMs?: number;
}

const PROBE_EVERY_MS = 20;
const SILENT_TIMEOUT_MS = 60_000;
const LOADING_NOTICE_MS = 5_000;

/**
 * Waits until a server is ready. There is no time limit while the server reports that it is loading its data, because that takes minutes on a
 * slow disk, and a killed server would have to start again.
 * @returns null if the server is ready. Otherwise the process has ended, and this is the reason
 * @throws the reason of the signal
 */
export async function waitUntilReady(child: ChildProcess, options: ReadinessOptions): Promise<string | null> {
  const { signal } = options;
  const stop = async (): Promise<void> => {
    if (child.pid !== undefined && isAlive(child)) await stopProcess(child.pid, options.stopSteps);
  };
  // Stops immediately, which also ends a waiting probe.
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
