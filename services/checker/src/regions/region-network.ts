import { isIP } from 'node:net';
import { parseUrl } from '@tocsin/contracts/parse-url';
import type { CheckTarget } from '@tocsin/db/monitors/check-targets';
import { withoutBrackets } from '@tocsin/egress/connection';
import type { Logger } from '@tocsin/runtime/logger';
import { withDeadline } from '@tocsin/runtime/timeout';
import type { CanaryRoundResult } from '../metrics.ts';
import { ProbeAbortedError, type ProbeResult } from '@tocsin/probe/probe';
import type { TransportFailure } from '@tocsin/probe/request-hop';
import { Evidence } from './evidence.ts';
import { IsolationReport, type ReportIsolation } from './isolation-report.ts';

/** Interval of rounds, from start to start. */
const ROUND_EVERY_MS = 2_000;
const LIST_VALID_MS = 5_000;
const LIST_WITHIN_MS = 2_000;
/** Delay before an unreadable list is read again, if there is no earlier one. */
const LIST_RETRY_MS = 500;
/** A slower connection may have lost its first packets. The next address is tried after 250 ms, and a packet is repeated after a second. */
const QUICK_CONNECT_MS = 200;
const KINDS: readonly TransportFailure[] = ['lookup', 'connection'];

export interface RegionNetworkOptions {
  readonly accountId: string;
  readonly region: string;
  readonly loadCanaries: (accountId: string, region: string) => Promise<readonly CheckTarget[]>;
  /** Resolves to null if a limit of this process ended the probe. @throws ProbeAbortedError at shutdown */
  readonly probeCanary: (canary: CheckTarget) => Promise<ProbeResult | null>;
  readonly report: ReportIsolation;
  readonly onRound: (result: CanaryRoundResult) => void;
  readonly logger: Logger;
  readonly signal: AbortSignal;
}

/**
 * Decides by the canaries of one account whether this process has a network in one region. Any response proves it. If all canaries fail below
 * HTTP, the process is isolated until one responds. Times are `performance.now()`.
 */
export class RegionNetwork {
  readonly #options: RegionNetworkOptions;
  readonly #report: IsolationReport;
  /** If canaries with a host name exist, only they show whether names resolve. */
  readonly #evidence: Readonly<Record<TransportFailure, Evidence>> = {
    lookup: new Evidence(),
    connection: new Evidence(),
  };
  /** Null until the canaries are read. */
  #canaries: readonly CheckTarget[] | null = null;
  #readAt = -Infinity;
  #reading: Promise<void> | null = null;
  #roundAt = -Infinity;
  /** True if a round is planned or runs. */
  #hasRound = false;
  #timer: NodeJS.Timeout | undefined;
  #isClosed = false;
  readonly #waiters = new Set<() => void>();
  /** Number of checks that rounds accompany. */
  #accompanied = 0;
  #usedAt = performance.now();

  constructor(options: RegionNetworkOptions) {
    this.#options = options;
    this.#report = new IsolationReport(options);
  }

  /** Reports whether the network has been unused for this long and nothing waits for it. */
  isIdle(forMs: number): boolean {
    const isBusy = this.#hasRound || this.#accompanied > 0 || this.#waiters.size > 0 || this.#report.isOpen;
    return !isBusy && performance.now() - this.#usedAt > forMs;
  }

  /** Reports whether the monitor is a canary. Null if unknown, because Postgres is unavailable and the canaries were never read. */
  async isCanary(monitorId: string): Promise<boolean | null> {
    const canaries = await this.#list();
    return canaries?.some((canary) => canary.monitorId === monitorId) ?? null;
  }

  /** True if the account is known to have no canaries in the region. */
  get isUnwatched(): boolean {
    return this.#canaries?.length === 0;
  }

  /** Reports whether this process was isolated at some time after this moment. */
  wasIsolated(kind: TransportFailure, since: number): boolean {
    return this.#evidence[kind].wasIsolated(since);
  }

  /** Reports whether canaries have responded without a long pause since this moment. */
  wasProvenSince(kind: TransportFailure, moment: number): boolean {
    return this.#evidence[kind].wasProvenSince(moment);
  }

  accompany(): () => void {
    this.#accompanied += 1;
    this.#planRound();
    return () => (this.#accompanied -= 1);
  }

  /**
   * Waits for evidence of the network after `since`.
   * @returns when a canary last proved the network, or null without evidence or canaries
   * @throws ProbeAbortedError at shutdown
   */
  async seekProof(kind: TransportFailure, since: number, until: number): Promise<number | 'isolated' | null> {
    const evidence = this.#evidence[kind];
    for (;;) {
      if (this.#options.signal.aborted) throw new ProbeAbortedError('the checker shuts down');
      if (evidence.isIsolated) return 'isolated';
      if (evidence.provenAt > since) return evidence.provenAt;
      const canaries = await this.#list();
      const leftMs = until - performance.now();
      if (leftMs <= 0 || canaries?.length === 0) return null;
      if (canaries !== null) this.#planRound();
      await this.#change(canaries === null ? Math.min(LIST_RETRY_MS, leftMs) : leftMs);
    }
  }

  /** Records the response of a monitor, which matters only for canaries. @param connectMs upper bound of the time to connect */
  noteResponse(monitorId: string, startedAt: number, connectMs: number): void {
    const canaries = this.#canaries ?? [];
    // Results of other monitors must not wake anything.
    if (!canaries.some((canary) => canary.monitorId === monitorId)) return;
    const provenAt = connectMs <= QUICK_CONNECT_MS ? startedAt : performance.now();
    for (const kind of KINDS) {
      const shows = canariesFor(kind, canaries).some((canary) => canary.monitorId === monitorId);
      if (shows) this.#evidence[kind].prove(provenAt);
    }
    this.#settle();
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    await this.#report.close();
  }

  /** Returns the canaries as last read, or null if they were never read. */
  async #list(): Promise<readonly CheckTarget[] | null> {
    this.#usedAt = performance.now();
    if (this.#canaries === null || performance.now() - this.#readAt >= LIST_VALID_MS) {
      this.#reading ??= this.#read().finally(() => (this.#reading = null));
      await this.#reading;
    }
    return this.#canaries;
  }

  async #read(): Promise<void> {
    const { accountId, region, loadCanaries, logger } = this.#options;
    try {
      this.#canaries = await withDeadline(
        loadCanaries(accountId, region),
        LIST_WITHIN_MS,
        'reading canaries',
      );
    } catch (error) {
      logger.warn('Reading the canaries of a region failed', { accountId, region, error });
    }
    this.#readAt = performance.now();
  }

  #planRound(): void {
    if (this.#hasRound || this.#isClosed) return;
    this.#hasRound = true;
    const delayMs = Math.max(0, this.#roundAt + ROUND_EVERY_MS - performance.now());
    this.#timer = setTimeout(() => void this.#runRound(), delayMs);
  }

  async #runRound(): Promise<void> {
    this.#roundAt = performance.now();
    const canaries = (await this.#list()) ?? [];
    const probing = canaries.map(async (canary) => [canary, await this.#probe(canary)] as const);
    const outcomes = new Map(await Promise.all(probing));
    for (const kind of KINDS) {
      const evidence = this.#evidence[kind];
      const shown = canariesFor(kind, canaries).map((canary) => outcomes.get(canary));
      const usable = shown.filter((outcome) => outcome !== 'unusable');
      const hasFailed = usable.length > 0 && usable.every((outcome) => outcome === 'failed');
      if (canaries.length === 0) evidence.end();
      // A scheduled check of a canary may have passed in the meantime.
      else if (hasFailed && evidence.provenAt < this.#roundAt) evidence.isolate(this.#roundAt);
    }
    this.#options.onRound(this.#resultOf([...outcomes.values()]));
    this.#hasRound = false;
    this.#settle();
    if (this.#isIsolated || this.#accompanied > 0) this.#planRound();
  }

  /** Probes a canary. `unusable` means that checks may not reach its address, and `unknown` that the probe did not end. */
  async #probe(canary: CheckTarget): Promise<'responded' | 'failed' | 'unusable' | 'unknown'> {
    const startedAt = performance.now();
    try {
      const result = await this.#options.probeCanary(canary);
      if (result === null) return 'unknown';
      if (!hasResponded(result)) return result.transportFailure === null ? 'unusable' : 'failed';
      const { dns, tcp } = result.timings;
      this.noteResponse(canary.monitorId, startedAt, (dns ?? 0) + (tcp ?? 0));
      return 'responded';
    } catch (error) {
      const { accountId, region, logger } = this.#options;
      if (!(error instanceof ProbeAbortedError))
        logger.error('Probing a canary failed', { accountId, region, monitorId: canary.monitorId, error });
      return 'unknown';
    }
  }

  #resultOf(outcomes: readonly unknown[]): CanaryRoundResult {
    if (this.#evidence.connection.isIsolated) return 'isolated';
    if (this.#evidence.lookup.isIsolated) return 'no_dns';
    return outcomes.includes('responded') ? 'connected' : 'unknown';
  }

  get #isIsolated(): boolean {
    return KINDS.some((kind) => this.#evidence[kind].isIsolated);
  }

  /** Reports a change and wakes waiting results. */
  #settle(): void {
    this.#report.update(this.#isIsolated);
    for (const wake of this.#waiters) wake();
  }

  #change(withinMs: number): Promise<void> {
    return new Promise((resolve) => {
      const wake = (): void => {
        clearTimeout(timer);
        this.#waiters.delete(wake);
        resolve();
      };
      const timer = setTimeout(wake, withinMs);
      this.#waiters.add(wake);
    });
  }
}

/** Reports whether bytes of the target arrived, even malformed ones. */
export function hasResponded({ statusCode, transportFailure, timings }: ProbeResult): boolean {
  return statusCode !== null || (transportFailure === null && timings.tcp !== null);
}

/** Returns the canaries that show whether the network causes a failure of this kind. */
function canariesFor(kind: TransportFailure, canaries: readonly CheckTarget[]): readonly CheckTarget[] {
  const named = kind === 'lookup' ? canaries.filter(({ url }) => hasName(url)) : [];
  return named.length > 0 ? named : canaries;
}

function hasName(url: string): boolean {
  return isIP(withoutBrackets(parseUrl(url)?.hostname ?? '')) === 0;
}
