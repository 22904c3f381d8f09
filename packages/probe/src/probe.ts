import type { IncomingHttpHeaders } from 'node:http';
import type { FailedResponse, Timings } from '@tocsin/contracts/monitors/events';
import type { AssertionOutcome } from '@tocsin/contracts/monitors/trial-check';
import type { Assertions } from '@tocsin/contracts/monitors/assertions';
import type { MonitorInput } from '@tocsin/contracts/monitors/monitor';
import { parseUrl } from '@tocsin/contracts/parse-url';
import {
  evaluateAssertions,
  evaluateResponse,
  followsRedirects,
  needsBody,
  statusPasses,
  verdictOf,
  type CheckedResponse,
} from '@tocsin/core/checks/assertions';
import type { Outcome } from '@tocsin/core/checks/conditions';
import type { OwnFailure } from '@tocsin/core/checks/describe-error';
import { sanitiseDetail, type Failure } from '@tocsin/core/checks/error-reason';
import type { CheckResult } from '@tocsin/core/status/decide-check';
import type { Egress } from '@tocsin/egress/create-egress';
import type { LookupOwner } from '@tocsin/egress/dns/fair-lookup';
import { FairShares } from '@tocsin/runtime/fair-shares';
import { createBodyMemory, MAX_LARGE_BODIES, type BodyMemory } from './body-memory.ts';
import { decodeBody, type DecodedBody } from './body.ts';
import { CheckCookies } from './cookies.ts';
import { beginningOf, composeResponse, showHeader } from './failed-response.ts';
import { firstRequest, MAX_REDIRECTS, redirectedRequest, REDIRECTS } from './hop-request.ts';
import { describeOwnFailure, findOwnFailure } from './own-failure.ts';
import { redactSent } from './redact.ts';
import { requestHop, type ChooseBodyUse, type HopOutcome, type TransportFailure } from './request-hop.ts';
import { type RouteFields, routeOf } from './route.ts';
import { Deadline } from './timing.ts';

export interface ProbeTarget
  extends Readonly<Pick<MonitorInput, 'url' | 'method' | 'headers' | 'body' | 'assertions'>>, RouteFields {
  /** Defaults to true. */
  readonly followRedirects?: boolean | undefined;
  /** The monitor's URL if `url` replaces it. `connectTo` and the client certificate are for its origin only. */
  readonly ownUrl?: string | undefined;
  readonly timeoutMs: number;
  /** Describes the outcome of each assertion in the result. */
  readonly isTrial?: boolean | undefined;
  readonly owner: Pick<LookupOwner, 'account' | 'resource'>;
  /** Aborted when other accounts need the capacity of this check. */
  readonly signal?: AbortSignal | undefined;
  /** Called when the probe begins, and again if another agent takes it over from a lost one. */
  readonly onBegin?: () => void;
}

/**
 * Result of one check. After redirects, only `latencyMs` covers the whole exchange. It is 0 without a response head, except for a `TIMEOUT`
 * after the connection was established.
 */
export interface ProbeResult extends Pick<
  CheckResult,
  'status' | 'latencyMs' | 'statusCode' | 'errorReason' | 'errorDetail' | 'certificateExpiresAt'
> {
  readonly timings: Timings;
  /** Composes the response to a failed check, which is called only if the response is kept. Null without a response. */
  readonly response: (() => FailedResponse) | null;
  /** Stage at which the last request failed below HTTP, possibly because of this process's network. Otherwise null. */
  readonly transportFailure: TransportFailure | null;
  /** The resource that this process ran out of, such as local ports, or null. If set, the check says nothing about its target. */
  readonly ownFailure: OwnFailure | null;
  /** Outcomes of the assertions of a trial check. Empty without a complete response. */
  readonly assertions?: AssertionOutcome[];
}

/** The process shuts down, so there is no result. */
export class ProbeAbortedError extends Error {
  override readonly name = 'ProbeAbortedError';
}

/** Other accounts needed the capacity of this process, so there is no result. */
export class ProbeThrottledError extends Error {
  override readonly name = 'ProbeThrottledError';
  readonly reason: 'throttled' | 'agent_disconnected' | 'agent_outdated' = 'throttled';
}

/** After a longer wait for other probes, a timeout says nothing about the target. */
const MAX_WAIT_MS = 100;

/** Event streams and camera streams never end. */
const ENDLESS = /^(?:text\/event-stream|multipart\/x-mixed-replace)\b/i;

interface ProberOptions {
  readonly egress: Egress;
  readonly signal?: AbortSignal;
  readonly largeBodies?: FairShares;
}

export class Prober {
  readonly #egress: Egress;
  readonly #signal: AbortSignal | undefined;
  readonly #largeBodies: FairShares;
  /** One listener of the signal ends all deadlines, because Node searches the listeners of a signal one by one. */
  readonly #deadlines = new Set<Deadline>();

  constructor({ egress, signal, largeBodies = new FairShares(MAX_LARGE_BODIES) }: ProberOptions) {
    this.#egress = egress;
    this.#signal = signal;
    this.#largeBodies = largeBodies;
    signal?.addEventListener('abort', () => {
      for (const deadline of this.#deadlines) deadline.end('aborted');
    });
  }

  /** A failing target is a result. @throws ProbeAbortedError at shutdown, ProbeThrottledError if other accounts needed its capacity */
  async probe(target: ProbeTarget): Promise<ProbeResult> {
    target.onBegin?.();
    const url = parseUrl(target.url);
    if (url?.protocol !== 'http:' && url?.protocol !== 'https:') return INVALID_URL;
    if (this.#signal?.aborted === true) throw new ProbeAbortedError('the probe was aborted');
    const deadline = new Deadline(target.timeoutMs);
    const throttle = (): true => {
      deadline.end('throttled');
      return true;
    };
    const memory = createBodyMemory(this.#largeBodies, target.owner.account, throttle);
    this.#deadlines.add(deadline);
    if (target.signal?.aborted === true) throttle();
    target.signal?.addEventListener('abort', throttle);
    try {
      const result = await exchange(target, url, this.#egress, deadline, memory);
      if (deadline.state === 'aborted') throw new ProbeAbortedError('the probe was aborted');
      if (deadline.state === 'throttled') throw new ProbeThrottledError('other accounts need the capacity');
      return result;
    } finally {
      this.#deadlines.delete(deadline);
      deadline.close();
      memory.release();
      target.signal?.removeEventListener('abort', throttle);
    }
  }
}

async function exchange(
  target: ProbeTarget,
  url: URL,
  egress: Egress,
  deadline: Deadline,
  memory: BodyMemory,
): Promise<ProbeResult> {
  const { assertions } = target;
  const follows = target.followRedirects !== false && followsRedirects(assertions);
  const own = target.ownUrl === undefined ? url : (parseUrl(target.ownUrl) ?? url);
  const chooseBodyUse = bodyUseOf(assertions, follows);
  const cookies = new CheckCookies();
  let certificateExpiresAt: Date | null = null;
  let request = firstRequest(url, target.method, target.headers, target.body);
  for (let redirects = 0; ; redirects += 1) {
    let waitsForLookup: (() => boolean) | undefined;
    let lookupError: unknown;
    const owner: LookupOwner = {
      account: target.owner.account,
      resource: target.owner.resource,
      isRedirected: redirects > 0,
      deadline: deadline.endsAt,
      onWaiting: (isOwnFault) => (waitsForLookup = isOwnFault),
      onBegin: (ms) => (deadline.waitedMs += ms),
      onRetry: (error) => (lookupError = error),
    };
    const route = routeOf(target, own, request.url);
    const hop = await requestHop(request, { egress, route, owner, deadline, chooseBodyUse, memory });
    certificateExpiresAt = earlier(certificateExpiresAt, hop.certificateExpiresAt);
    const timedOutWaiting = deadline.state === 'expired' && deadline.waitedMs > MAX_WAIT_MS;
    if ((memory.isWaiting || waitsForLookup?.() === true || timedOutWaiting) && deadline.state !== 'aborted')
      throw new ProbeThrottledError('the check waited for memory or a name lookup');
    const fail = (failure: Failure | string): ProbeResult =>
      failedResult(target, { ...hop, certificateExpiresAt }, failure, deadline, redirects > 0);
    const ownFailure = hop.ownFailure ?? (isLookupTimeout(hop) ? findOwnFailure(lookupError) : null);
    if (ownFailure !== null) return { ...fail(describeOwnFailure(ownFailure)), ownFailure };
    if (hop.failure !== null) return fail(hop.failure);
    if (hop.statusCode === null || !follows || !REDIRECTS.has(hop.statusCode)) {
      const latencyMs = hop.decidedMs ?? deadline.elapsedMs();
      const body = await decodeHop(hop);
      if (body !== null && 'problem' in body && hop.decidedMs === null) return fail(body.problem);
      const text = body !== null && 'text' in body ? body.text : null;
      return evaluatedResult(target, { ...hop, certificateExpiresAt }, text, latencyMs);
    }
    if (redirects === MAX_REDIRECTS) return fail(`more than ${MAX_REDIRECTS} redirects`);
    const next = redirectedRequest(request, hop.statusCode, hop.headers?.location ?? null);
    if (typeof next === 'string') return fail(next);
    await cookies.store(request.url, hop.headers?.['set-cookie'] ?? []);
    request = { ...next, cookies: cookies.headerFor(next.url) };
  }
}

function earlier(one: Date | null, other: Date | null): Date | null {
  if (one === null || other === null) return one ?? other;
  return one < other ? one : other;
}

function isLookupTimeout({ failure, transportFailure }: HopOutcome): boolean {
  return transportFailure === 'lookup' && failure?.errorReason === 'TIMEOUT';
}

/** Chooses to read a body even if no assertion needs it, because a broken response is a failure. */
function bodyUseOf(assertions: Assertions | null, follows: boolean): ChooseBodyUse {
  const use = needsBody(assertions) ? 'keep' : 'discard';
  return ({ statusCode = 0, headers }) => {
    if (follows && REDIRECTS.has(statusCode)) return 'skip';
    // The first failed response of a region is kept.
    if (!statusPasses(statusCode, assertions)) return 'beginning';
    return use === 'discard' && ENDLESS.test(headers['content-type'] ?? '') ? 'skip' : use;
  };
}

async function decodeHop({ body, headers, decidedMs }: HopOutcome): Promise<DecodedBody | null> {
  if (!body?.bytes) return null;
  return decodeBody(
    body.bytes,
    body.complete,
    headers ?? {},
    decidedMs === null ? undefined : body.bytes.length,
  );
}

function evaluatedResult(
  target: ProbeTarget,
  { statusCode, headers, certificateExpiresAt, clock }: HopOutcome,
  body: string | null,
  latencyMs: number,
): ProbeResult {
  const response: CheckedResponse = {
    statusCode: statusCode ?? 0,
    headers: headers ?? {},
    body,
    latencyMs,
    certificateExpiresAt,
    now: new Date(),
    redact: (text) => redactSent(text, target),
    showHeader: (name, value) => redactSent(showHeader(name, value), target),
  };
  const outcomes = target.isTrial === true ? evaluateAssertions(response, target.assertions) : null;
  const verdict =
    outcomes === null
      ? evaluateResponse(response, target.assertions)
      : verdictOf(response.statusCode, outcomes);
  return {
    status: verdict.status,
    errorReason: verdict.errorReason,
    errorDetail: verdict.errorDetail,
    latencyMs,
    statusCode,
    timings: clock.timings(),
    certificateExpiresAt,
    transportFailure: null,
    ownFailure: null,
    response: verdict.status === 'UP' ? null : composer(target, headers, body),
    ...(outcomes && { assertions: outcomes.map(toWords) }),
  };
}

function toWords({ assertion, failure, seen }: Outcome): AssertionOutcome {
  return { assertion, passed: failure === null, detail: sanitiseDetail(failure ?? seen()) };
}

function failedResult(
  target: ProbeTarget,
  { statusCode, headers, clock, certificateExpiresAt, transportFailure }: HopOutcome,
  failure: Failure | string,
  deadline: Deadline,
  isRedirected: boolean,
): ProbeResult {
  const { errorReason, errorDetail }: Failure =
    typeof failure === 'string' ? { errorReason: 'UNKNOWN_ERROR', errorDetail: failure } : failure;
  const timedOutConnected = deadline.state === 'expired' && (clock.connected || isRedirected);
  return {
    status: 'DOWN',
    latencyMs: statusCode !== null || timedOutConnected ? deadline.elapsedMs() : 0,
    statusCode,
    errorReason,
    // The text is redacted before it is cut, because a cut may leave half a secret.
    errorDetail: sanitiseDetail(redactSent(errorDetail, target)),
    timings: clock.timings(),
    certificateExpiresAt,
    transportFailure,
    ownFailure: null,
    response: composer(target, headers, null),
  };
}

function composer(
  target: ProbeTarget,
  headers: IncomingHttpHeaders | null,
  body: string | null,
): ProbeResult['response'] {
  if (headers === null) return null;
  const beginning = body === null ? null : beginningOf(body);
  return () => composeResponse(headers, beginning, target);
}

const INVALID_URL: ProbeResult = {
  status: 'DOWN',
  latencyMs: 0,
  statusCode: null,
  errorReason: 'UNKNOWN_ERROR',
  errorDetail: 'target is not a valid http or https URL',
  timings: { dns: null, tcp: null, tls: null, firstByte: null, download: null },
  certificateExpiresAt: null,
  transportFailure: null,
  ownFailure: null,
  response: null,
};
