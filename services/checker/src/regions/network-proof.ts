import { MAX_PROOF_WAIT_MS } from '@tocsin/core/status/apply-check';
import type { CheckRecord } from '@tocsin/db/checks/check-record';
import type { CheckTarget } from '@tocsin/db/monitors/check-targets';
import { FairShares } from '@tocsin/runtime/fair-shares';
import type { CheckerMetrics } from '../metrics.ts';
import type { CheckProber } from '../checks/check-prober.ts';
import { type ProbeResult, type ProbeTarget, ProbeThrottledError } from '@tocsin/probe/probe';
import type { TransportFailure } from '@tocsin/probe/request-hop';
import { ExpiringMap, keepForInterval } from '../targets/expiring-map.ts';
import { MAX_PAUSE_MS } from './evidence.ts';
import { hasResponded, RegionNetwork, type RegionNetworkOptions } from './region-network.ts';

const CANARY_WITHIN_MS = 2_000;
const SECOND_PROBE_WITHIN_MS = 5_000;
/** During a check that takes longer, the network may have been lost and restored. */
const PROMPT_MS = 1_000;
/** Maximum concurrent probes of canaries, and the same for second probes. */
const MAX_PROBES = 2_000;
/** The probe of a canary waits this long for a permit. */
const PERMIT_WITHIN_MS = 1_000;
/** After a doubtful check of a monitor, canaries are probed along with this many of its checks. */
const ACCOMPANIED_CHECKS = 10;
const MAX_DOUBTED = 10_000;
/** The state of an account's region is forgotten this long after its last failed check. */
const FORGET_AFTER_MS = 10 * 60_000;
const SWEEP_EVERY_MS = 60_000;
/** A probe of a canary asserts a redirect status, so that redirects are not followed and other bodies are not read. */
const ANY_RESPONSE = { statusCode: 300 } as const;

/** A check whose probe has ended. Times are `performance.now()`. */
export interface ProbedCheck {
  readonly target: CheckTarget;
  readonly region: string;
  readonly urlOverride: string | null;
  readonly startedAt: number;
  readonly endedAt: number;
  readonly result: ProbeResult;
}

export interface NetworkProofOptions extends Pick<
  RegionNetworkOptions,
  'loadCanaries' | 'report' | 'logger' | 'signal'
> {
  readonly prober: CheckProber;
  readonly canaryRounds: CheckerMetrics['canaryRounds'];
}

/**
 * Decides whether checks that failed below HTTP count, or whether this process had no network (docs/concepts/canaries.md). Applies only to
 * accounts with canaries.
 */
export class NetworkProof {
  readonly #options: NetworkProofOptions;
  /** Networks by account and region, for failed checks only. */
  readonly #networks = new Map<string, RegionNetwork>();
  readonly #canaryProbes = new FairShares(MAX_PROBES);
  readonly #secondProbes = new FairShares(MAX_PROBES);
  /** Number of checks to accompany, by monitor and region. */
  readonly #doubted: ExpiringMap<string, number> = new ExpiringMap(undefined, MAX_DOUBTED);
  #sweptAt = performance.now();

  constructor(options: NetworkProofOptions) {
    this.#options = options;
  }

  /** Records a result that did not fail below HTTP. A canary's response proves the network. */
  noteResult({ target, region, urlOverride, startedAt, endedAt, result }: ProbedCheck): void {
    if (this.#networks.size === 0 || urlOverride !== null || !hasResponded(result)) return;
    const network = this.#networks.get(keyOf(target.accountId, region));
    // A redirect hides how long the first connection took.
    network?.noteResponse(target.monitorId, startedAt, endedAt - startedAt);
  }

  /**
   * Called before a probe. After a doubtful check, canaries show whether there is a network until the returned function is called. Resolves
   * after a canary's first response, or after two seconds.
   * @throws ProbeAbortedError at shutdown
   */
  async accompany(
    { accountId, monitorId, intervalSeconds }: CheckTarget,
    { region, urlOverride }: Pick<ProbedCheck, 'region' | 'urlOverride'>,
  ): Promise<() => void> {
    const key = keyOf(monitorId, region);
    const checks = urlOverride === null ? (this.#doubted.get(key) ?? 0) : 0;
    if (checks === 0) return () => undefined;
    this.#doubted.set(key, checks - 1, keepForInterval(intervalSeconds));
    const network = this.#networkOf(accountId, region);
    const end = network.accompany();
    try {
      const now = performance.now();
      await network.seekProof('connection', now, now + CANARY_WITHIN_MS);
    } catch (error) {
      end();
      throw error;
    }
    return end;
  }

  /** Decides how to record a check that failed below HTTP. @throws ProbeAbortedError at shutdown */
  async networkOf(check: ProbedCheck): Promise<CheckRecord['network']> {
    const { target, region, urlOverride, startedAt, result } = check;
    const kind = result.transportFailure;
    if (kind === null || urlOverride !== null) return null;
    const network = this.#networkOf(target.accountId, region);
    const isCanary = await network.isCanary(target.monitorId);
    if (isCanary === true || network.isUnwatched) return null;
    return network.wasIsolated(kind, startedAt) ? this.prove(check) : 'unproven';
  }

  /**
   * Seeks proof of a network during a failed check, for at most ten seconds. If the network may have recovered in the meantime, probes the
   * target again. A response then suggests that the network failed, not the target.
   * @returns null if the failure counts
   * @throws ProbeAbortedError at shutdown
   */
  async prove(check: ProbedCheck): Promise<'isolated' | 'doubtful' | null> {
    const { target, region, startedAt, result } = check;
    const until = performance.now() + MAX_PROOF_WAIT_MS;
    const network = this.#networkOf(target.accountId, region);
    // A canary's own check always counts, because its alert shows that the region is isolated.
    if ((await network.isCanary(target.monitorId)) === true) return null;
    const kind = result.transportFailure ?? 'connection';
    const proof = await network.seekProof(kind, startedAt, until);
    if (typeof proof !== 'number') return proof;
    const wasIsolated = network.wasIsolated(kind, startedAt);
    if (!wasIsolated && (await this.#hadNetwork(network, kind, check, { proof, until }))) return null;
    const secondAt = performance.now();
    const second = await this.#probeAgain(target, until - secondAt);
    if (wasIsolated && (second === null || second.transportFailure === null)) return 'isolated';
    if (second?.transportFailure === null) return this.#doubt(check);
    // The network may have been lost again.
    const lastKind = second?.transportFailure ?? kind;
    const lastProof = await network.seekProof(lastKind, performance.now(), until);
    if (lastProof === 'isolated' || network.wasIsolated(lastKind, secondAt)) return 'isolated';
    // If no name resolves, waiting lookups can prevent a second probe of the target.
    return second === null ? this.#doubt(check) : null;
  }

  /**
   * Reports whether canaries prove the network from the start of a failed check to its end, so that the failure counts. A long check may fail
   * because of packets that are lost now and then, so canaries decide only if a check of the monitor was doubtful before.
   */
  async #hadNetwork(
    network: RegionNetwork,
    kind: TransportFailure,
    { target, region, startedAt, endedAt, result }: ProbedCheck,
    { proof, until }: { readonly proof: number; readonly until: number },
  ): Promise<boolean> {
    // A refusal is a response of the target.
    if (result.errorReason === 'CONNECTION_REFUSED') return true;
    const isPrompt = endedAt <= startedAt + PROMPT_MS;
    const isDoubted = this.#doubted.get(keyOf(target.monitorId, region)) !== undefined;
    // Between two responses, the network may be lost for a moment. Only a short check fails then, because packets are repeated.
    const isLong = isDoubted && endedAt >= startedAt + MAX_PAUSE_MS;
    const isProven = (): boolean =>
      isPrompt ? proof <= endedAt : isLong && network.wasProvenSince(kind, startedAt);
    if (!isProven()) return false;
    const later = await network.seekProof(kind, endedAt, until);
    return typeof later === 'number' && isProven() && !network.wasIsolated(kind, startedAt);
  }

  #doubt({ target, region }: ProbedCheck): 'doubtful' {
    const key = keyOf(target.monitorId, region);
    this.#doubted.set(key, ACCOMPANIED_CHECKS, keepForInterval(target.intervalSeconds));
    return 'doubtful';
  }

  async close(): Promise<void> {
    await Promise.all([...this.#networks.values()].map((network) => network.close()));
  }

  #networkOf(accountId: string, region: string): RegionNetwork {
    const key = keyOf(accountId, region);
    const known = this.#networks.get(key);
    if (known !== undefined) return known;
    this.#sweep();
    const { canaryRounds, ...options } = this.#options;
    const network = new RegionNetwork({
      ...options,
      accountId,
      region,
      probeCanary: (canary) => this.#probeCanary(canary),
      onRound: (result) => canaryRounds.inc({ region, result }),
    });
    this.#networks.set(key, network);
    return network;
  }

  #sweep(): void {
    const now = performance.now();
    if (now - this.#sweptAt < SWEEP_EVERY_MS) return;
    this.#sweptAt = now;
    for (const [key, network] of this.#networks) {
      if (network.isIdle(FORGET_AFTER_MS)) this.#networks.delete(key);
    }
  }

  /** Canaries have their own lookup owners, because hanging lookups of targets use up the limits of the account. */
  #probeCanary(canary: CheckTarget): Promise<ProbeResult | null> {
    const account = `canaries of ${canary.accountId}`;
    const probe = {
      ...canary,
      assertions: ANY_RESPONSE,
      timeoutMs: CANARY_WITHIN_MS,
      owner: { account, resource: canary.monitorId },
    };
    return this.#probe(this.#canaryProbes, probe, PERMIT_WITHIN_MS);
  }

  #probeAgain(target: CheckTarget, leftMs: number): Promise<ProbeResult | null> {
    const withinMs = Math.min(target.timeoutSeconds * 1_000, SECOND_PROBE_WITHIN_MS, leftMs);
    if (withinMs <= 0) return Promise.resolve(null);
    const owner = { account: target.accountId, resource: target.monitorId };
    return this.#probe(this.#secondProbes, { ...target, timeoutMs: withinMs, owner }, leftMs);
  }

  /** Resolves to null if other accounts or a failure of this process prevented a result. */
  async #probe(shares: FairShares, target: ProbeTarget, permitWithinMs: number): Promise<ProbeResult | null> {
    const revoked = new AbortController();
    const release = await shares.acquire(target.owner.account, {
      withinMs: permitWithinMs,
      onRevoke: () => {
        revoked.abort();
        return true;
      },
    });
    if (release === null) return null;
    try {
      const result = await this.#options.prober.probe({ ...target, signal: revoked.signal });
      return result.ownFailure === null ? result : null;
    } catch (error) {
      if (error instanceof ProbeThrottledError) return null;
      throw error;
    } finally {
      release();
    }
  }
}

function keyOf(id: string, region: string): string {
  return `${id} ${region}`;
}
