import http, { type ClientRequest, type IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import { TLSSocket } from 'node:tls';
import { classifyError, type Failure } from '@tocsin/core/checks/error-reason';
import { certificateExpiry } from '@tocsin/egress/connection';
import type { Egress } from '@tocsin/egress/create-egress';
import type { LookupOwner } from '@tocsin/egress/dns/fair-lookup';
import type { BodyLease } from './body-budget.ts';
import { readBody, type ReadBody } from './body.ts';
import { type HopRequest, requestOptions } from './hop-request.ts';
import { differentLengths, renameRepeatedLengths } from './repeated-length.ts';
import { PhaseClock, type Deadline } from './timing.ts';

/** More 1xx responses than this are a failure: they could hold up a check without end. */
const MAX_INTERIM_RESPONSES = 20;

/** The versions that Node's parser accepts in its strict mode. */
const HTTP_VERSIONS = new Set(['0.9', '1.0', '1.1', '2.0']);

/** The result of one request of a check. With a `failure` the other fields hold what was known until then. */
export interface HopOutcome {
  readonly failure: Failure | null;
  /** Null if no response head arrived. */
  readonly statusCode: number | null;
  readonly location: string | null;
  readonly setCookie: readonly string[];
  readonly contentType: string;
  readonly contentEncoding: string;
  /** Null if it was not read or broke off. */
  readonly body: ReadBody | null;
  /** Null over http, and without a TLS connection. */
  readonly certificateExpiresAt: Date | null;
  readonly clock: PhaseClock;
}

/**
 * Called once the head is complete. Decides whether the body is read to its end and kept, read to its end and discarded, or not read at
 * all.
 */
export type ChooseBodyUse = (response: IncomingMessage) => 'keep' | 'discard' | 'skip';

interface HopOptions {
  readonly egress: Egress;
  /** The account and monitor whose limits apply to the lookup of the name. */
  readonly owner: LookupOwner;
  readonly deadline: Deadline;
  readonly chooseBodyUse: ChooseBodyUse;
  /** The memory for the body. Reading ends when it is refused. */
  readonly lease: BodyLease;
}

/**
 * Makes one request on a connection of its own and closes that connection as soon as possible. Never rejects: the outcome covers
 * everything that the target does, and the deadline.
 */
export function requestHop(request: HopRequest, options: HopOptions): Promise<HopOutcome> {
  return new Promise((resolve) => new Hop(options, resolve).start(request));
}

class Hop {
  readonly #options: HopOptions;
  readonly #resolve: (outcome: HopOutcome) => void;
  readonly #clock = new PhaseClock();
  #request: ClientRequest | null = null;
  #response: IncomingMessage | null = null;
  #certificateExpiresAt: Date | null = null;
  #interimResponses = 0;
  #settled = false;

  constructor(options: HopOptions, resolve: (outcome: HopOutcome) => void) {
    this.#options = options;
    this.#resolve = resolve;
  }

  start(hop: HopRequest): void {
    const { deadline, egress, owner } = this.#options;
    if (deadline.state !== 'running') return this.#interrupted();
    deadline.interrupt = () => this.#interrupted();
    try {
      const request = http.request(requestOptions(hop, egress, owner));
      this.#request = request;
      request.on('socket', (socket: Socket) => this.#connecting(socket));
      request.on('response', (response) => this.#responded(response, true));
      // An unexpected 101. Without a listener Node would report a closed connection instead of the status.
      request.on('upgrade', (response) => this.#responded(response, false));
      request.on('information', () => this.#interim());
      request.on('error', (error) => this.#failed(error));
      request.end(hop.body);
    } catch (error) {
      this.#failed(error);
    }
  }

  #connecting(socket: Socket): void {
    const secure = socket instanceof TLSSocket;
    this.#clock.watch(socket, secure);
    renameRepeatedLengths(socket);
    if (!secure) return;
    socket.on('secureConnect', () => {
      this.#certificateExpiresAt = certificateExpiry(socket);
    });
  }

  #responded(response: IncomingMessage, hasBody: boolean): void {
    if (this.#settled) return;
    this.#clock.head();
    const problem = problemOfHead(response);
    if (problem !== null) return this.#broken(`malformed response: ${problem}`);
    this.#response = response;
    const use = hasBody ? this.#options.chooseBodyUse(response) : 'skip';
    if (use === 'skip') return this.#settle(null, null);
    const done = (result: ReadBody | string): void => {
      if (typeof result === 'string') return this.#broken(result);
      this.#clock.body();
      this.#settle(result, null);
    };
    readBody(response, use === 'keep' ? (bytes) => this.#options.lease.resize(bytes) : null, done);
  }

  #interim(): void {
    this.#interimResponses += 1;
    if (this.#interimResponses <= MAX_INTERIM_RESPONSES) return;
    this.#broken(`more than ${MAX_INTERIM_RESPONSES} interim (1xx) responses came before the real one`);
  }

  #failed(error: unknown): void {
    // An error after a complete response does not matter. The stream still delivers the rest of the body.
    if (this.#response?.complete === true) return;
    const failure = classifyError(error);
    if (this.#response === null) return this.#settle(null, failure);
    this.#settle(null, { ...failure, errorDetail: `${failure.errorDetail} while reading the body` });
  }

  #interrupted(): void {
    const errorDetail = `the timeout ended the check while ${this.#clock.phase}`;
    this.#settle(null, { errorReason: 'TIMEOUT', errorDetail });
  }

  #broken(errorDetail: string): void {
    this.#settle(null, { errorReason: 'UNKNOWN_ERROR', errorDetail });
  }

  #settle(body: ReadBody | null, failure: Failure | null): void {
    if (this.#settled) return;
    this.#settled = true;
    this.#options.deadline.interrupt = null;
    this.#closeConnection();
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

  #closeConnection(): void {
    // Destroying the request would first read the rest of the response, at a tenth of the cost of a check.
    if (this.#response?.complete === true) this.#response.socket.destroy();
    else this.#request?.destroy();
  }
}

/** Describes what Node's parser accepts in its lenient mode and other clients reject; null for nothing. */
function problemOfHead({ httpVersion, headers, rawHeaders }: IncomingMessage): string | null {
  if (differentLengths(headers)) return 'different values of Content-Length';
  if (!HTTP_VERSIONS.has(httpVersion)) return `HTTP version ${httpVersion}`;
  return rawHeaders.some((text) => text.includes('\0')) ? 'NUL character in a header' : null;
}
