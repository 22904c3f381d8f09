import { MAX_PROOF_WAIT_MS } from '@tocsin/core/status/apply-check';
import type { ProbeResult } from '@tocsin/probe/probe';
import type { Link } from './link.ts';

const SECOND_PROBE_WITHIN_MS = 5_000;

/** Reports whether the network of this machine may have caused the failure. A refused connection is a response of the target. */
export function needsConfirmation({ transportFailure, errorReason, ownFailure }: ProbeResult): boolean {
  return transportFailure !== null && ownFailure === null && errorReason !== 'CONNECTION_REFUSED';
}

export interface ConfirmOptions {
  readonly link: Pick<Link, 'prove' | 'steady'>;
  /** When the failed probe began. */
  readonly startedAt: number;
  readonly timeoutMs: number;
  /** Probes the target once more. */
  readonly probeAgain: (withinMs: number) => Promise<ProbeResult>;
  readonly now?: () => number;
}

/**
 * Reports whether a failure below HTTP counts. It counts if the connection to the gateway was alive throughout, from the start of the probe
 * to a pong after its end. If the connection was interrupted, the target is probed again, and a response shows that the network had failed.
 * Takes at most ten seconds.
 */
export async function confirmFailure(options: ConfirmOptions): Promise<boolean> {
  const { link, startedAt, timeoutMs, probeAgain, now = () => performance.now() } = options;
  const until = now() + MAX_PROOF_WAIT_MS;
  for (let since = startedAt; ;) {
    const proof = await link.prove(since, until);
    if (proof !== 'interrupted') return proof === 'unbroken';
    if ((await link.steady(until)) === 'lost') return false;
    since = now();
    const withinMs = Math.min(SECOND_PROBE_WITHIN_MS, timeoutMs, until - since);
    if (withinMs <= 0) return false;
    const again = await probeAgain(withinMs);
    if (!needsConfirmation(again)) return again.errorReason === 'CONNECTION_REFUSED';
    // The target accepted a connection, so it may only need longer than this probe had.
    if (again.errorReason === 'TIMEOUT' && again.timings.tcp !== null && withinMs < timeoutMs) return false;
  }
}
