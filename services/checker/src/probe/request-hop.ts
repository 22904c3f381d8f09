import { classifyError, type Failure } from '@tocsin/core/check/error-reason';
import type { Egress } from '@tocsin/egress/create-egress';
import type { LookupOwner } from '@tocsin/egress/fair-lookup';
import { certificateExpiry } from '@tocsin/egress/peer-certificate';
import http, { type ClientRequest, type IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import { TLSSocket } from 'node:tls';
import type { BodyLease } from './body-budget.ts';
import type { Deadline } from './deadline.ts';
import { requestOptions, type HopRequest } from './hop-request.ts';
import { PhaseClock } from './phase-clock.ts';
import { readBody } from './read-body.ts';

/** More 1xx answers than this before the real one are an attack on our time. */
const MAX_INTERIM_ANSWERS = 20;

/** What one request of a check came to. With a `failure` the other fields hold what was known until then. */
export interface HopOutcome {
  readonly failure: Failure | null;
  /** Null where no response head arrived. */
  readonly statusCode: number | null;
  readonly location: string | null;
  readonly setCookie: readonly string[];
  readonly contentType: string;
  readonly contentEncoding: string;
  /** As it came over the wire, at most 1 MiB; null where it was not wanted or not all there. */
  readonly body: Buffer | null;
  /** Null over http, and where no TLS connection came about. */
  readonly certificateExpiresAt: Date | null;
  readonly clock: PhaseClock;
}

/**
 * Makes one request on a connection of its own and ends that connection as soon as nothing more is wanted of it.
 * Never rejects: whatever the target does, and the deadline, is an outcome.
 * @param owner on whose behalf the name of the target is looked up
 * @param wantsBody whether the body of an answer with this status is to be read
 * @param lease the memory for the body; where it refuses some, the body ends there
 */
export function requestHop(
  request: HopRequest,
  egress: Egress,
  owner: LookupOwner,
  deadline: Deadline,
  wantsBody: (statusCode: number) => boolean,
  lease: BodyLease,
): Promise<HopOutcome> {
  return new Promise((resolve) => new Hop(deadline, wantsBody, lease, resolve).start(request, egress, owner));
}

class Hop {
  readonly #clock = new PhaseClock();
  readonly #deadline: Deadline;
  readonly #wantsBody: (statusCode: number) => boolean;
  readonly #lease: BodyLease;
  readonly #resolve: (outcome: HopOutcome) => void;
  #request: ClientRequest | null = null;
  #response: IncomingMessage | null = null;
  #certificateExpiresAt: Date | null = null;
  #interimAnswers = 0;
  #settled = false;

  constructor(
    deadline: Deadline,
    wantsBody: (statusCode: number) => boolean,
    lease: BodyLease,
    resolve: (outcome: HopOutcome) => void,
  ) {
    this.#deadline = deadline;
    this.#wantsBody = wantsBody;
    this.#lease = lease;
    this.#resolve = resolve;
  }

  start(hop: HopRequest, egress: Egress, owner: LookupOwner): void {
    if (this.#deadline.state !== 'running') return this.#interrupted();
    this.#deadline.interrupt = () => this.#interrupted();
    try {
      const request = http.request(requestOptions(hop, egress, owner));
      this.#request = request;
      request.on('socket', (socket: Socket) => this.#connecting(socket));
      request.on('response', (response) => this.#answered(response, true));
      // A 101 nobody asked for: without a listener Node would report a closed connection instead of its status.
      request.on('upgrade', (response) => this.#answered(response, false));
      request.on('information', () => this.#interim());
      request.on('error', (error) => this.#settle(null, classifyError(error)));
      request.end(hop.body);
    } catch (error) {
      this.#settle(null, classifyError(error));
    }
  }

  #connecting(socket: Socket): void {
    const secure = socket instanceof TLSSocket;
    this.#clock.watch(socket, secure);
    if (!secure) return;
    socket.on('secureConnect', () => {
      this.#certificateExpiresAt = certificateExpiry(socket);
    });
  }

  #answered(response: IncomingMessage, hasBody: boolean): void {
    if (this.#settled) return;
    this.#clock.head();
    this.#response = response;
    if (!hasBody || !this.#wantsBody(response.statusCode ?? 0)) return this.#settle(null, null);
    const done = (body: Buffer | null, problem: string | null): void => {
      if (body !== null) this.#clock.body();
      this.#settle(body, problem === null ? null : { errorReason: 'UNKNOWN_ERROR', errorDetail: problem });
    };
    readBody(response, done, (bytes) => this.#lease.hold(bytes));
  }

  #interim(): void {
    this.#interimAnswers += 1;
    if (this.#interimAnswers <= MAX_INTERIM_ANSWERS) return;
    const errorDetail = `more than ${MAX_INTERIM_ANSWERS} interim (1xx) answers came before the real one`;
    this.#settle(null, { errorReason: 'UNKNOWN_ERROR', errorDetail });
  }

  #interrupted(): void {
    const errorDetail = `the timeout ended the check while ${this.#clock.phase}`;
    this.#settle(null, { errorReason: 'TIMEOUT', errorDetail });
  }

  #settle(body: Buffer | null, failure: Failure | null): void {
    if (this.#settled) return;
    this.#settled = true;
    this.#deadline.interrupt = null;
    this.#request?.destroy();
    const headers = this.#response?.headers;
    this.#resolve({
      failure,
      statusCode: this.#response?.statusCode ?? null,
      location: headers?.location ?? null,
      setCookie: headers?.['set-cookie'] ?? [],
      contentType: headers?.['content-type'] ?? '',
      contentEncoding: headers?.['content-encoding'] ?? 'identity',
      body,
      certificateExpiresAt: this.#certificateExpiresAt,
      clock: this.#clock,
    });
  }
}
