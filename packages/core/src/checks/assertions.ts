import type { IncomingHttpHeaders } from 'node:http';
import { type Assertions, BODY_ASSERTIONS, rangeOf } from '@tocsin/contracts/monitors/assertions';
import type { ErrorReason } from '@tocsin/contracts/vocabulary';
import { Budget } from './budget.ts';
import { cut, evaluateHeader, evaluateJson, type Outcome, outcomeOf, quoteExpression } from './conditions.ts';
import { containsText } from './contains-text.ts';
import { plural, wordsOfSpan } from './describe-error.ts';
import { sanitiseDetail } from './error-reason.ts';
import { matchesExpression } from './regular-expression.ts';

const DAY_MS = 86_400_000;

export interface CheckedResponse {
  readonly statusCode: number;
  readonly headers: IncomingHttpHeaders;
  /** Null if the response has no body or the check did not read it. Assertions then see empty text. */
  readonly body: string | null;
  readonly latencyMs: number;
  /** When the first certificate of the check expires. Null without TLS. */
  readonly certificateExpiresAt: Date | null;
  readonly now: Date;
  /** Removes secrets from text of the target. */
  readonly redact: (text: string) => string;
  /** Returns the value of a header without secrets. */
  readonly showHeader: (name: string, value: string) => string;
}

export type ResponseVerdict =
  | { readonly status: 'UP'; readonly errorReason: null; readonly errorDetail: null }
  | { readonly status: 'DOWN'; readonly errorReason: ErrorReason; readonly errorDetail: string };

const PASSED: ResponseVerdict = { status: 'UP', errorReason: null, errorDetail: null };

/** Evaluates a complete response. A wrong status code gives `HTTP_<code>`. Other failed assertions give one `UNKNOWN_ERROR` that lists them all. */
export function evaluateResponse(response: CheckedResponse, assertions: Assertions | null): ResponseVerdict {
  if (assertions === null && statusPasses(response.statusCode, null)) return PASSED;
  return verdictOf(response.statusCode, evaluateAssertions(response, assertions));
}

export function verdictOf(statusCode: number, outcomes: readonly Outcome[]): ResponseVerdict {
  const failures = outcomes.flatMap(({ failure }) => failure ?? []);
  if (failures.length === 0) return PASSED;
  const reason = outcomes[0]?.failure === null ? 'UNKNOWN_ERROR' : statusReason(statusCode);
  return down(reason, failures.join('; '));
}

/** Evaluates each assertion, or only the status code if that is wrong. The first outcome is about the status code. */
export function evaluateAssertions(
  response: CheckedResponse,
  assertions: Assertions | null,
): readonly Outcome[] {
  const status = evaluateStatus(response.statusCode, assertions);
  if (assertions === null || status.failure !== null) return [status];
  const budget = new Budget();
  return [
    status,
    ...evaluateHeaders(response, assertions, budget),
    ...evaluateBody(response.body ?? '', assertions, budget),
    ...evaluateJsonConditions(response, assertions, budget),
    ...evaluateLatency(response, assertions),
    ...evaluateCertificate(response, assertions),
  ];
}

/** Checks the status code alone. Without an assertion, 200 to 399 pass. */
export function statusPasses(statusCode: number, assertions: Assertions | null): boolean {
  const { statusCode: expected, statusCodes } = assertions ?? {};
  if (expected !== undefined) return statusCode === expected;
  if (statusCodes === undefined) return statusCode >= 200 && statusCode <= 399;
  return statusCodes.some((codes) => {
    const [first, last] = rangeOf(codes);
    return statusCode >= first && statusCode <= last;
  });
}

export function needsBody(assertions: Assertions | null): boolean {
  return assertions !== null && BODY_ASSERTIONS.some((key) => assertions[key] !== undefined);
}

/** A check follows redirects unless it asserts nothing but 3xx. */
export function followsRedirects(assertions: Assertions | null): boolean {
  const { statusCode, statusCodes } = assertions ?? {};
  const expected = statusCode === undefined ? statusCodes : [statusCode];
  return expected?.some((codes) => rangeOf(codes).some((code) => code < 300 || code > 399)) ?? true;
}

function evaluateStatus(statusCode: number, assertions: Assertions | null): Outcome {
  const { statusCode: code, statusCodes: codes } = assertions ?? {};
  const one = code === undefined ? 'a status from 200 to 399' : `status ${code}`;
  const expected = codes === undefined ? one : `a status of ${codes.join(', ')}`;
  const failure = statusPasses(statusCode, assertions) ? null : `expected ${expected}, got ${statusCode}`;
  const assertion = codes === undefined ? 'statusCode' : 'statusCodes';
  return { assertion, failure, seen: () => `status ${statusCode}` };
}

function evaluateHeaders(
  { headers, showHeader }: CheckedResponse,
  { headers: conditions = [] }: Assertions,
  budget: Budget,
): Outcome[] {
  return conditions.map((condition, index) => {
    const name = condition.name.toLowerCase();
    const given = Object.hasOwn(headers, name) ? [headers[name] ?? []].flat() : [];
    // Servers send UTF-8, which Node reads as Latin-1.
    const values = given.map((value) => Buffer.from(value, 'latin1').toString());
    const show = (value: string): string => showHeader(name, value);
    return evaluateHeader(`headers.${index}`, condition, values, show, budget);
  });
}

function* evaluateBody(text: string, assertions: Assertions, budget: Budget): Generator<Outcome> {
  const { bodyContains, bodyNotContains, bodyMatches } = assertions;
  if (bodyContains !== undefined) yield evaluateText('bodyContains', text, bodyContains, true);
  if (bodyNotContains !== undefined) yield evaluateText('bodyNotContains', text, bodyNotContains, false);
  if (bodyMatches === undefined) return;
  const words = quoteExpression(bodyMatches);
  yield outcomeOf('bodyMatches', `body matches ${words}`, () => {
    const failure = matchesExpression(bodyMatches, text, budget) ? null : `body does not match ${words}`;
    return { failure, seen: () => `body matches ${words}` };
  });
}

function evaluateText(assertion: string, text: string, wanted: string, isWanted: boolean): Outcome {
  const found = containsText(text, wanted);
  const sentence = `body ${found ? 'contains' : 'does not contain'} ${quote(wanted)}`;
  return { assertion, failure: found === isWanted ? null : sentence, seen: () => sentence };
}

function evaluateJsonConditions(
  { body, redact }: CheckedResponse,
  { json: conditions }: Assertions,
  budget: Budget,
): Outcome[] {
  if (conditions === undefined) return [];
  let document: unknown;
  try {
    // Some servers send a byte order mark.
    document = JSON.parse((body ?? '').replace(/^\uFEFF/, ''));
  } catch {
    const failure = body === null || body === '' ? 'body is empty, not JSON' : 'body is not JSON';
    return [{ assertion: 'json', failure, seen: () => failure }];
  }
  return conditions.map((condition, index) =>
    evaluateJson(`json.${index}`, condition, document, redact, budget),
  );
}

function evaluateLatency({ latencyMs }: CheckedResponse, { maxLatency }: Assertions): Outcome[] {
  if (maxLatency === undefined) return [];
  const seen = `latency ${latencyMs} ms`;
  const failure = latencyMs <= maxLatency ? null : `${seen} above the maximum of ${maxLatency} ms`;
  return [{ assertion: 'maxLatency', failure, seen: () => seen }];
}

function evaluateCertificate(response: CheckedResponse, { certificateMinDays: days }: Assertions): Outcome[] {
  if (days === undefined) return [];
  const { certificateExpiresAt, now } = response;
  const assertion = 'certificateMinDays';
  if (certificateExpiresAt === null) {
    const failure = 'no certificate: the response did not come over https';
    return [{ assertion, failure, seen: () => failure }];
  }
  const leftMs = certificateExpiresAt.getTime() - now.getTime();
  const seen = `certificate ${leftMs < 0 ? 'expired' : `expires in ${wordsOfSpan(leftMs)}`}`;
  const failure = leftMs >= days * DAY_MS ? null : `${seen}, below the minimum of ${plural(days, 'day')}`;
  return [{ assertion, failure, seen: () => seen }];
}

/** Servers may send codes below 100, for which the API has no `HTTP_<code>`. */
function statusReason(statusCode: number): ErrorReason {
  return statusCode >= 100 && statusCode <= 999 ? `HTTP_${statusCode}` : 'UNKNOWN_ERROR';
}

function quote(text: string): string {
  return `“${cut(text)}”`;
}

function down(errorReason: ErrorReason, errorDetail: string): ResponseVerdict {
  return { status: 'DOWN', errorReason, errorDetail: sanitiseDetail(errorDetail) };
}
