import http, { type ClientRequest, type IncomingHttpHeaders, type IncomingMessage } from 'node:http';
import { isIP, type Socket } from 'node:net';
import { TLSSocket } from 'node:tls';
import type { OwnFailure } from '@tocsin/core/checks/describe-error';
import { classifyError, type Failure } from '@tocsin/core/checks/error-reason';
import { certificateExpiry, withoutBrackets } from '@tocsin/egress/connection';
import type { Route } from '@tocsin/egress/connection';
import type { Egress } from '@tocsin/egress/create-egress';
import type { LookupOwner } from '@tocsin/egress/dns/fair-lookup';
import { problemOfHead } from '@tocsin/egress/lenient-responses';
import { renameRepeatedLengths } from '@tocsin/egress/repeated-length';
import type { BodyMemory } from './body-memory.ts';
import { readBeginning, readBody, type ReadBody } from './body.ts';
import { type HopRequest, requestOptions } from './hop-request.ts';
import { findOwnFailure } from './own-failure.ts';
import { markHandshakeErrors, noteOnCertificate, noteOnHostHeader } from './tls-failure.ts';
import { PhaseClock, type Deadline } from './timing.ts';

/** Further 1xx responses could prolong a check without end. */
const MAX_INTERIM_RESPONSES = 20;

/** `lookup` is a failed lookup. `connection` is a later failure below HTTP, such as no connection, no TLS, or an incomplete response. */
export type TransportFailure = 'lookup' | 'connection';

/** Result of one request. After a `failure`, the other fields contain what was known by then. */
export interface HopOutcome {
  readonly failure: Failure | null;
  /** Null for other failures, such as a blocked address, a malformed response, or a request that cannot be sent. */
  readonly transportFailure: TransportFailure | null;
  /** The resource that this process ran out of, or null. */
  readonly ownFailure: OwnFailure | null;
  /** Null without a response head, like `headers`. */
  readonly statusCode: number | null;
  readonly headers: IncomingHttpHeaders | null;
  /** Null if the body was not read or broke off. */
  readonly body: ReadBody | null;
  /** Milliseconds from the start of the check to a head that decided the result, or null. */
  readonly decidedMs: number | null;
  /** Null without TLS. */
  readonly certificateExpiresAt: Date | null;
  readonly clock: PhaseClock;
}

/** Decides what to do with a body once the head is complete. `beginning` reads the start of a body that cannot change the result. */
export type ChooseBodyUse = (response: IncomingMessage) => 'keep' | 'discard' | 'beginning' | 'skip';

interface HopOptions {
  readonly egress: Egress;
  /** How to connect, or null for the usual way. */
  readonly route: Route | null;
  /** The DNS lookup counts towards this account's share. */
  readonly owner: LookupOwner;
  readonly deadline: Deadline;
  readonly chooseBodyUse: ChooseBodyUse;
  /** Memory for a large body. */
  readonly memory: BodyMemory;
}

/** Makes one request on its own connection. Never rejects, because the outcome covers everything that the target does, and the deadline. */
export function requestHop(hop: HopRequest, options: HopOptions): Promise<HopOutcome> {
  return new Promise((resolve) => startHop(hop, options, resolve));
}

function startHop(
  hop: HopRequest,
  { deadline, egress, route, owner, chooseBodyUse, memory }: HopOptions,
  resolve: (outcome: HopOutcome) => void,
): void {
  const clock = new PhaseClock(isIP(withoutBrackets((route?.destination ?? hop.url).hostname)) === 0);
  let request: ClientRequest | null = null;
  let response: IncomingMessage | null = null;
  let certificateExpiresAt: Date | null = null;
  let interimResponses = 0;
  let isSettled = false;
  let decidedMs: number | null = null;
  const earlierMs = deadline.waitedMs;
  let ownFailure: OwnFailure | null = null;
  let endBeginning: (() => void) | null = null;

  function connecting(socket: Socket): void {
    const isSecure = socket instanceof TLSSocket;
    clock.watch(socket, isSecure);
    renameRepeatedLengths(socket);
    if (!isSecure) return;
    markHandshakeErrors(socket, route?.tls.certificate !== undefined);
    socket.on('secureConnect', () => (certificateExpiresAt = certificateExpiry(socket)));
  }

  function responded(head: IncomingMessage, hasBody: boolean): void {
    if (isSettled) return;
    clock.head();
    const problem = problemOfHead(head);
    if (problem !== null) return broken(`malformed response: ${problem}`);
    response = head;
    const use = hasBody ? chooseBodyUse(head) : 'skip';
    if (use === 'skip') return settle(null, null);
    if (use === 'beginning') {
      decidedMs = deadline.elapsedMs();
      endBeginning = readBeginning(head, (bytes) => settle({ bytes, complete: false }, null));
      return;
    }
    readBody(head, use === 'keep' ? () => memory.admit() : null, (result) => {
      if (typeof result === 'string') return broken(result, 'connection');
      clock.body();
      settle(result, null);
    });
  }

  function interim(): void {
    interimResponses += 1;
    if (interimResponses > MAX_INTERIM_RESPONSES)
      broken(`more than ${MAX_INTERIM_RESPONSES} interim (1xx) responses before the real one`);
  }

  function failed(error: unknown, transport = transportOf(error)): void {
    // Errors after a complete response do not matter, because the stream still delivers the rest of the body.
    if (response?.complete === true) return;
    if (endBeginning !== null) return endBeginning();
    ownFailure = findOwnFailure(error);
    const failure = classifyError(error);
    const transportFailure = transport && failure.errorReason === 'DNS_ERROR' ? 'lookup' : transport;
    const notes = `${noteOnHostHeader(hop, error)}${noteOnCertificate(route, error)}`;
    const note = response === null ? notes : ' while reading the body';
    settle(null, { ...failure, errorDetail: `${failure.errorDetail}${note}` }, transportFailure);
  }

  function interrupted(): void {
    if (endBeginning !== null) return endBeginning();
    const errorDetail = clock.describeTimeout(`${deadline.timeoutMs / 1_000} s`);
    settle(null, { errorReason: 'TIMEOUT', errorDetail }, clock.isLookingUp ? 'lookup' : 'connection');
  }

  function broken(errorDetail: string, transportFailure: TransportFailure | null = null): void {
    settle(null, { errorReason: 'UNKNOWN_ERROR', errorDetail }, transportFailure);
  }

  function settle(
    body: ReadBody | null,
    failure: Failure | null,
    transportFailure: TransportFailure | null = null,
  ): void {
    if (isSettled) return;
    isSettled = true;
    deadline.interrupt = null;
    // Destroying the request would first read the rest of the response, at a tenth of the cost of a check.
    if (response?.complete === true) response.socket.destroy();
    else request?.destroy();
    const { statusCode = null, headers = null } = response ?? {};
    resolve({
      failure,
      transportFailure,
      ownFailure,
      statusCode,
      headers,
      body,
      decidedMs,
      certificateExpiresAt,
      clock,
    });
  }

  if (deadline.state !== 'running') return interrupted();
  deadline.interrupt = interrupted;
  try {
    const resolved = (): void => clock.resolved(deadline.waitedMs - earlierMs);
    const createConnection = egress.connectionTo(hop.url, owner, resolved, route);
    request = http.request(requestOptions(hop, createConnection));
    request.on('socket', connecting);
    request.on('response', (head) => responded(head, true));
    // Handles an unexpected 101. Without a listener, Node would report a closed connection instead of the status.
    request.on('upgrade', (head) => responded(head, false));
    request.on('information', interim);
    request.on('error', (error) => failed(error));
    request.end(hop.body);
  } catch (error) {
    failed(error, null);
  }
}

/** Returns null for an error that says nothing about the network, such as a blocked address or a response that is not HTTP. */
function transportOf(error: unknown): TransportFailure | null {
  const code = String((error as NodeJS.ErrnoException).code);
  // The connection was closed within the head.
  if (code === 'HPE_INVALID_EOF_STATE') return 'connection';
  return code === 'EGRESS_BLOCKED' || code.startsWith('HPE_') ? null : 'connection';
}
