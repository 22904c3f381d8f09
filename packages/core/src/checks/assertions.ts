import type { Assertions } from '@tocsin/contracts/monitors/monitor';
import type { ErrorReason } from '@tocsin/contracts/vocabulary';
import { containsText } from './contains-text.ts';
import { plural, wordsOfSpan } from './describe-error.ts';
import { sanitiseDetail } from './error-reason.ts';

const DAY_MS = 86_400_000;
const QUOTED_CHARACTERS = 80;

export interface CheckedResponse {
  readonly statusCode: number;
  /** Null if the response has no body or the check did not read it. Assertions then see empty text. */
  readonly body: string | null;
  readonly latencyMs: number;
  /** Null without TLS. */
  readonly certificateExpiresAt: Date | null;
  readonly now: Date;
}

export type ResponseVerdict =
  | { readonly status: 'UP'; readonly errorReason: null; readonly errorDetail: null }
  | { readonly status: 'DOWN'; readonly errorReason: ErrorReason; readonly errorDetail: string };

const PASSED: ResponseVerdict = { status: 'UP', errorReason: null, errorDetail: null };

/** Evaluates a complete response. A wrong status code gives `HTTP_<code>`. Other failed assertions give one `UNKNOWN_ERROR` that lists them all. */
export function evaluateResponse(response: CheckedResponse, assertions: Assertions | null): ResponseVerdict {
  const { statusCode } = response;
  if (!statusPasses(statusCode, assertions)) {
    const asserted = assertions?.statusCode;
    const expected = asserted === undefined ? 'a status from 200 to 399' : `status ${asserted}`;
    return down(statusReason(statusCode), `expected ${expected}, got ${statusCode}`);
  }
  if (assertions === null) return PASSED;
  const broken = [
    failedBodyRule(response, assertions),
    failedLatencyRule(response, assertions),
    failedCertificateRule(response, assertions),
  ].filter((rule) => rule !== null);
  return broken.length === 0 ? PASSED : down('UNKNOWN_ERROR', broken.join('; '));
}

/** Checks the status code alone. Without an assertion, 200 to 399 pass. */
export function statusPasses(statusCode: number, assertions: Assertions | null): boolean {
  const expected = assertions?.statusCode;
  if (expected !== undefined) return statusCode === expected;
  return statusCode >= 200 && statusCode <= 399;
}

export function needsBody(assertions: Assertions | null): boolean {
  return assertions?.bodyContains !== undefined || assertions?.bodyNotContains !== undefined;
}

/** A check follows redirects unless it asserts a 3xx. */
export function followsRedirects(assertions: Assertions | null): boolean {
  const expected = assertions?.statusCode;
  return expected === undefined || expected < 300 || expected > 399;
}

/** Servers may send codes below 100, for which the API has no `HTTP_<code>`. */
function statusReason(statusCode: number): ErrorReason {
  return statusCode >= 100 && statusCode <= 999 ? `HTTP_${statusCode}` : 'UNKNOWN_ERROR';
}

function failedBodyRule({ body }: CheckedResponse, assertions: Assertions): string | null {
  const { bodyContains, bodyNotContains } = assertions;
  const text = body ?? '';
  if (bodyContains !== undefined && !containsText(text, bodyContains)) {
    return `body does not contain ${quote(bodyContains)}`;
  }
  if (bodyNotContains !== undefined && containsText(text, bodyNotContains)) {
    return `body contains ${quote(bodyNotContains)}`;
  }
  return null;
}

function failedLatencyRule({ latencyMs }: CheckedResponse, { maxLatency }: Assertions): string | null {
  if (maxLatency === undefined || latencyMs <= maxLatency) return null;
  return `latency ${latencyMs} ms above the maximum of ${maxLatency} ms`;
}

function failedCertificateRule(response: CheckedResponse, assertions: Assertions): string | null {
  const { certificateMinDays } = assertions;
  const { certificateExpiresAt, now } = response;
  if (certificateMinDays === undefined) return null;
  if (certificateExpiresAt === null) return 'no certificate: the response did not come over https';
  const leftMs = certificateExpiresAt.getTime() - now.getTime();
  if (leftMs >= certificateMinDays * DAY_MS) return null;
  const expires = leftMs < 0 ? 'expired' : `expires in ${wordsOfSpan(leftMs)}`;
  return `certificate ${expires}, below the minimum of ${plural(certificateMinDays, 'day')}`;
}

function quote(text: string): string {
  const shown = text.length > QUOTED_CHARACTERS ? `${text.slice(0, QUOTED_CHARACTERS)}…` : text;
  return `“${shown}”`;
}

function down(errorReason: ErrorReason, errorDetail: string): ResponseVerdict {
  return { status: 'DOWN', errorReason, errorDetail: sanitiseDetail(errorDetail) };
}
