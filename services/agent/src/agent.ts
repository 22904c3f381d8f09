import { hostname } from 'node:os';
import {
  type AgentMessage,
  type AgentProbe,
  type AgentResult,
  MAX_MESSAGES_PER_FRAME,
} from '@tocsin/contracts/agents/protocol';
import { LIMITS } from '@tocsin/contracts/limits';
import type { Egress } from '@tocsin/egress/create-egress';
import { describeOwnFailure } from '@tocsin/probe/own-failure';
import {
  ProbeAbortedError,
  Prober,
  type ProbeResult,
  type ProbeTarget,
  ProbeThrottledError,
} from '@tocsin/probe/probe';
import { AdaptiveLimit } from '@tocsin/runtime/adaptive-limit';
import { IN_TIME_MS, MIN_CONCURRENCY, TOO_LATE_MS, watchLateness } from '@tocsin/runtime/event-loop';
import type { Logger } from '@tocsin/runtime/logger';
import { withTimeout } from '@tocsin/runtime/timeout';
import { confirmFailure, needsConfirmation } from './confirm-failure.ts';
import { type ConnectionOptions, GatewayConnection, type WelcomedMessage } from './connection.ts';
import type { Link } from './link.ts';
import { Results } from './results.ts';
import { VERSION } from './version.ts';

/** At shutdown, running probes have this long to finish. */
const ABORT_PROBES_AFTER_MS = 20_000;
/** Time since the start of the shutdown within which gateways must confirm the last results. */
const STOP_WITHIN_MS = 24_000;
/** Maximum unconfirmed results, as a multiple of the concurrency. At this limit, the agent takes no probes. */
const MAX_KEPT = 2;
const MAX_DURATION_MS = 3_600_000;

interface Running {
  readonly link: Link;
  readonly hasTicket: boolean;
  readonly controller: AbortController;
}

export interface AgentOptions extends Pick<ConnectionOptions, 'url' | 'token' | 'proxy'> {
  readonly egress: Egress;
  /** Maximum concurrent probes. */
  readonly concurrency: number;
  readonly logger: Logger;
  /** Called for each result that is returned. */
  readonly onResult?: (result: ProbeResult) => void;
  /** Reports the lateness of the event loop in ms until the returned function is called. Defaults to a timer. */
  readonly watchLateness?: typeof watchLateness;
}

/** Runs the probes that gateways send, and returns their results. */
export class Agent {
  readonly #options: AgentOptions;
  readonly #connection: GatewayConnection;
  readonly #prober: Prober;
  readonly #shutdown = new AbortController();
  readonly #running = new Map<string, Running>();
  readonly #results = new Results();
  #dropped: string[] = [];
  /** Fewer than `concurrency` while the event loop is late. */
  #limit: number;
  #credits = 0;
  #willSend = false;
  readonly #stopWatching: () => void;
  #isStopping = false;
  #onProgress: () => void = () => undefined;

  constructor(options: AgentOptions) {
    this.#options = options;
    const { url, token, proxy, egress, concurrency, logger } = options;
    this.#prober = new Prober({ egress, signal: this.#shutdown.signal });
    this.#connection = new GatewayConnection({
      url,
      token,
      proxy,
      logger,
      hello: () => this.#hello(),
      onWelcome: () => {
        this.#results.resend();
        this.#flushSoon();
      },
      onMessage: (message, link) => this.#receive(message, link),
      onLost: (isRefused) => this.#lost(isRefused),
    });
    const limit = new AdaptiveLimit(concurrency, MIN_CONCURRENCY);
    this.#limit = concurrency;
    this.#stopWatching = (options.watchLateness ?? watchLateness)((lateMs) => {
      if (lateMs > TOO_LATE_MS) this.#limit = limit.reduce(this.#running.size);
      else if (lateMs < IN_TIME_MS) this.#limit = limit.raise();
      this.#updateCredits();
      this.#send();
    });
  }

  get state(): {
    readonly running: number;
    readonly kept: number;
    readonly credits: number;
    readonly link: Link | null;
  } {
    const { kept } = this.#results;
    return { running: this.#running.size, kept, credits: this.#credits, link: this.#connection.link };
  }

  start(): void {
    this.#connection.connect();
  }

  /** Takes no more probes, finishes the running ones, and waits until their results are recorded. */
  async stop(): Promise<void> {
    this.#isStopping = true;
    this.#updateCredits();
    const stopAt = performance.now() + STOP_WITHIN_MS;
    await this.#until(() => this.#running.size === 0, ABORT_PROBES_AFTER_MS);
    this.#shutdown.abort();
    await this.#until(() => this.#running.size === 0 && this.#results.kept === 0, stopAt - performance.now());
    const { kept } = this.#results;
    if (kept > 0) this.#options.logger.warn('No gateway confirmed the last results', { results: kept });
    this.#stopWatching();
    this.#send();
    await this.#connection.stop();
  }

  async #until(isDone: () => boolean, withinMs: number): Promise<void> {
    const done = new Promise<void>((resolve) => {
      this.#onProgress = () => isDone() && resolve();
      this.#onProgress();
    });
    await withTimeout(done, withinMs, undefined);
  }

  #hello(): AgentMessage {
    this.#credits = this.#creditsNow();
    const name = hostname().slice(0, LIMITS.nameCharacters) || 'agent';
    return { type: 'hello', version: VERSION, name, credits: this.#credits };
  }

  /** Running probes of an earlier connection use capacity that the current gateway does not know about. */
  #creditsNow(): number {
    if (this.#isStopping) return 0;
    let others = 0;
    for (const { link } of this.#running.values()) others += link.isLost ? 1 : 0;
    const unconfirmed = MAX_KEPT * this.#options.concurrency - this.#results.kept;
    return Math.max(0, Math.min(this.#limit - others, unconfirmed));
  }

  #updateCredits(): void {
    const credits = this.#creditsNow();
    if (credits === this.#credits || this.#connection.link === null) return;
    this.#credits = credits;
    this.#connection.send(JSON.stringify({ type: 'credits', credits } satisfies AgentMessage));
  }

  #receive(message: WelcomedMessage, link: Link): void {
    if (message.type === 'probes') {
      for (const probe of message.probes) {
        this.#run(probe, link).catch((error: unknown) => {
          this.#options.logger.error('Could not start a probe', { error });
        });
      }
      return;
    }
    // The gateway has confirmed these results or does not need them.
    this.#results.remove(message.ids);
    if (message.type === 'cancel') {
      for (const id of message.ids) {
        this.#running.get(id)?.controller.abort();
        // The gateway reuses the capacity at once.
        this.#running.delete(id);
      }
    }
    this.#flushSoon();
    this.#onProgress();
  }

  #lost(isRefused: boolean): void {
    const dropped = isRefused ? this.#results.refuse() : 0;
    if (dropped > 0)
      this.#options.logger.error('Dropped results that gateways refused repeatedly', { results: dropped });
    this.#dropped = [];
    for (const { link, hasTicket, controller } of this.#running.values())
      if (link.isLost && !hasTicket) controller.abort();
  }

  async #run(probe: AgentProbe, link: Link): Promise<void> {
    const { id, ticket } = probe;
    if (this.#running.has(id)) return;
    if (this.#running.size >= this.#options.concurrency) return this.#drop(id, link);
    const running = { link, hasTicket: ticket !== null, controller: new AbortController() };
    this.#running.set(id, running);
    try {
      const { result, endedAt } = await this.#probe(probe, running);
      if (running.controller.signal.aborted || (link.isLost && ticket === null)) this.#drop(id, link);
      else {
        this.#results.add(resultOf(probe, result), endedAt);
        this.#options.onResult?.(result);
      }
    } catch (error) {
      // When this agent has closed the connection, another one runs the probe.
      if (error instanceof ProbeAbortedError) return;
      this.#drop(id, link);
      if (!(error instanceof ProbeThrottledError))
        this.#options.logger.error('A probe ended with an error', { error });
    } finally {
      this.#running.delete(id);
      this.#flushSoon();
      this.#onProgress();
    }
  }

  async #probe(
    probe: AgentProbe,
    { link, controller: { signal } }: Running,
  ): Promise<{ readonly result: ProbeResult; readonly endedAt: number }> {
    const { account, resource, timeoutMs, connection } = probe;
    const target: ProbeTarget = { ...probe, ...connection, owner: { account, resource }, signal };
    const startedAt = performance.now();
    const result = await this.#prober.probe(target);
    const endedAt = performance.now();
    if (!needsConfirmation(result)) return { result, endedAt };
    const probeAgain = (withinMs: number): Promise<ProbeResult> =>
      this.#prober.probe({ ...target, timeoutMs: withinMs });
    if (await confirmFailure({ link, startedAt, timeoutMs, probeAgain })) return { result, endedAt };
    const ownFailure = 'agent_disconnected';
    return { result: { ...result, ...describeOwnFailure(ownFailure), ownFailure }, endedAt };
  }

  #drop(id: string, link: Link): void {
    if (link.isLost) return;
    this.#dropped.push(id);
    this.#flushSoon();
  }

  #flushSoon(): void {
    if (this.#willSend) return;
    this.#willSend = true;
    setImmediate(() => {
      this.#willSend = false;
      this.#send();
    });
  }

  /** Sends waiting messages while the connection is writable. */
  #send(): void {
    while (this.#connection.isWritable) {
      const frame = this.#results.takeFrame() ?? this.#takeDropped();
      if (frame === null) return;
      this.#connection.send(frame);
    }
  }

  #takeDropped(): string | null {
    const ids = this.#dropped.splice(0, MAX_MESSAGES_PER_FRAME);
    return ids.length === 0 ? null : JSON.stringify({ type: 'dropped', ids } satisfies AgentMessage);
  }
}

function resultOf({ id, ticket }: AgentProbe, result: ProbeResult): Omit<AgentResult, 'ageMs'> {
  return {
    id,
    ticket,
    status: result.status,
    latencyMs: Math.min(MAX_DURATION_MS, result.latencyMs),
    statusCode: result.statusCode,
    errorReason: result.errorReason,
    errorDetail: result.errorDetail,
    timings: result.timings,
    certificateExpiresAt: result.certificateExpiresAt?.getTime() ?? null,
    transportFailure: result.transportFailure,
    ownFailure: result.ownFailure,
    response: result.response?.() ?? null,
    ...(result.assertions && { assertions: result.assertions }),
  };
}
