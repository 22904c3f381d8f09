import type { Timings } from '@tocsin/contracts/monitors/events';
import type { Assertions } from '@tocsin/contracts/monitors/monitor';
import { parseUrl } from '@tocsin/contracts/parse-url';
import type { CheckStatus, ErrorReason, HttpMethod } from '@tocsin/contracts/vocabulary';
import { followsRedirects, judgeResponse, needsBody, statusPasses } from '@tocsin/core/checks/assertions';
import { type Failure, sanitiseDetail } from '@tocsin/core/checks/error-reason';
import type { Egress } from '@tocsin/egress/create-egress';
import type { LookupOwner } from '@tocsin/egress/dns/fair-lookup';
import { BodyBudget, type BodyLease, ProbeThrottledError } from './body-budget.ts';
import { decodeBody } from './body.ts';
import { CheckCookies } from './cookies.ts';
import { firstRequest, isRedirect, MAX_REDIRECTS, redirectedRequest } from './hop-request.ts';
import { hideSent } from './redact.ts';
import { type ChooseBodyUse, type HopOutcome, requestHop } from './request-hop.ts';
import { Deadline } from './timing.ts';

/** What to check, as the monitor has it. */
export interface ProbeTarget {
  readonly url: string;
  readonly method: HttpMethod;
  readonly headers: Readonly<Record<string, string>> | null;
  readonly body: string | null;
  readonly timeoutMs: number;
  readonly assertions: Assertions | null;
  /** The account and the monitor. */
  readonly owner: Pick<LookupOwner, 'account' | 'resource'>;
}

/** The result of one check (design §4 "Check"). Of a chain of redirects the fields describe the last request. */
export interface ProbeResult {
  readonly status: CheckStatus;
  /**
   * Whole milliseconds of the whole exchange: 0 where no response head arrived, at least 1 otherwise. A `TIMEOUT` after
   * connecting has the elapsed time.
   */
  readonly latencyMs: number;
  /** Null where no response head arrived. */
  readonly statusCode: number | null;
  readonly errorReason: ErrorReason | null;
  readonly errorDetail: string | null;
  readonly timings: Timings;
  /** Null over http, and where no TLS connection came about. */
  readonly certificateExpiresAt: Date | null;
}

/** The process shuts down: the probe has no result. */
export class ProbeAbortedError extends Error {
  override readonly name = 'ProbeAbortedError';
  readonly code = 'PROBE_ABORTED';

  constructor() {
    super('the probe was aborted');
  }
}

const NO_TIMINGS: Timings = { dns: null, tcp: null, tls: null, firstByte: null, download: null };

/**
 * Checks one target (design §4 "Check"): a failing target is a result, never an exception.
 * @param egress the guarded way out; each hop of a redirect goes through it
 * @param signal ends the probe at shutdown
 * @param bodies the memory that this probe shares with others; default: its own
 * @throws ProbeAbortedError once `signal` aborts
 * @throws ProbeThrottledError if `bodies` has no memory left, or the account has too many lookups that hang to begin this one
 */
export async function probe(
  target: ProbeTarget,
  egress: Egress,
  signal?: AbortSignal,
  bodies: BodyBudget = new BodyBudget(),
): Promise<ProbeResult> {
  const url = parseUrl(target.url);
  if (url?.protocol !== 'http:' && url?.protocol !== 'https:') return notAnUrl();
  const deadline = new Deadline(target.timeoutMs, signal);
  const lease = bodies.open(target.owner.account);
  try {
    const result = await exchange(target, url, egress, deadline, lease);
    if (deadline.state === 'aborted') throw new ProbeAbortedError();
    return result;
  } finally {
    deadline.close();
    lease.release();
  }
}

async function exchange(
  target: ProbeTarget,
  url: URL,
  egress: Egress,
  deadline: Deadline,
  lease: BodyLease,
): Promise<ProbeResult> {
  const { assertions } = target;
  const follows = followsRedirects(assertions);
  const chooseBodyUse = bodyUseOf(assertions, follows);
  const cookies = new CheckCookies();
  let request = firstRequest(url, target.method, target.headers, target.body);
  for (let redirects = 0; ; redirects += 1) {
    let waitsForLookup = false;
    const owner: LookupOwner = {
      ...target.owner,
      redirected: redirects > 0,
      deadline: deadline.endsAt,
      onWaiting: (isWaiting) => (waitsForLookup = isWaiting),
    };
    const hop = await requestHop(request, egress, owner, deadline, chooseBodyUse, lease);
    if (lease.isRefused) throw new ProbeThrottledError('the checker has no memory left for the body');
    if (waitsForLookup && deadline.state !== 'aborted')
      throw new ProbeThrottledError('too many lookups of this account hang');
    if (hop.failure !== null) return failed(target, hop, hop.failure, deadline, redirects);
    if (hop.statusCode === null || !follows || !isRedirect(hop.statusCode)) {
      return judged(target, hop, deadline);
    }
    if (redirects === MAX_REDIRECTS)
      return lost(target, hop, `more than ${MAX_REDIRECTS} redirects`, deadline);
    const next = redirectedRequest(request, hop.statusCode, hop.location);
    if (typeof next === 'string') return lost(target, hop, next, deadline);
    await cookies.keep(request.url, hop.setCookie);
    request = { ...next, cookies: cookies.headerFor(next.url) };
  }
}

/**
 * Reads a body to its end even if no assertion looks at it, because a response that breaks off is a failure. Does not read a body that
 * cannot change the verdict.
 */
function bodyUseOf(assertions: Assertions | null, follows: boolean): ChooseBodyUse {
  const use = needsBody(assertions) ? 'keep' : 'discard';
  return ({ statusCode = 0, headers }) => {
    if (!statusPasses(statusCode, assertions)) return 'skip';
    if (follows && isRedirect(statusCode)) return 'skip';
    return use === 'discard' && isEndless(headers['content-type']) ? 'skip' : use;
  };
}

/** Event streams and camera streams have no end by design. */
function isEndless(contentType = ''): boolean {
  return /^(?:text\/event-stream|multipart\/x-mixed-replace)\b/i.test(contentType);
}

async function judged(target: ProbeTarget, hop: HopOutcome, deadline: Deadline): Promise<ProbeResult> {
  const latencyMs = deadline.elapsedMs();
  let body: string | null = null;
  if (hop.body?.bytes) {
    const { bytes, complete } = hop.body;
    const decoded = await decodeBody(bytes, complete, hop.contentEncoding, hop.contentType);
    if ('problem' in decoded) return lost(target, hop, decoded.problem, deadline);
    body = decoded.text;
  }
  const { statusCode, certificateExpiresAt } = hop;
  const now = new Date();
  const judgement = judgeResponse(
    { statusCode: statusCode ?? 0, body, latencyMs, certificateExpiresAt, now },
    target.assertions,
  );
  return { ...judgement, latencyMs, statusCode, timings: hop.clock.timings(), certificateExpiresAt };
}

/** An answer came, but the check cannot go on from it. */
function lost(target: ProbeTarget, hop: HopOutcome, detail: string, deadline: Deadline): ProbeResult {
  return failed(target, hop, { errorReason: 'UNKNOWN_ERROR', errorDetail: detail }, deadline, 0);
}

function failed(
  target: ProbeTarget,
  hop: HopOutcome,
  { errorReason, errorDetail }: Failure,
  deadline: Deadline,
  redirects: number,
): ProbeResult {
  const { statusCode, clock, certificateExpiresAt } = hop;
  const timedOutConnected = deadline.state === 'expired' && (clock.connected || redirects > 0);
  return {
    status: 'DOWN',
    latencyMs: statusCode !== null || timedOutConnected ? deadline.elapsedMs() : 0,
    statusCode,
    errorReason,
    // Hidden before it is cut: a cut may leave half a secret.
    errorDetail: sanitiseDetail(hideSent(errorDetail, target)),
    timings: clock.timings(),
    certificateExpiresAt,
  };
}

function notAnUrl(): ProbeResult {
  return {
    status: 'DOWN',
    latencyMs: 0,
    statusCode: null,
    errorReason: 'UNKNOWN_ERROR',
    errorDetail: 'the target is not a valid http or https URL',
    timings: NO_TIMINGS,
    certificateExpiresAt: null,
  };
}
