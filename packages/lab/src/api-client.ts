import { Agent, request, type ClientRequest, type IncomingMessage } from 'node:http';
import { setTimeout as wait } from 'node:timers/promises';
import { openSession, PUBLIC_URL } from './dashboard-session.ts';

export interface ApiCall {
  readonly method: string;
  readonly path: string;
  readonly body?: unknown;
}

export interface ApiResponse {
  readonly status: number;
  /** Null without a body. The text itself, if it is plain text. */
  readonly body: unknown;
}

/**
 * The result of a call. `refused`: nothing listens on the port. `notAccepted`: a new connection was reset before any byte of a
 * response, because the server stopped listening before it accepted the connection. `broken`: an established
 * connection broke, or a response was incomplete or invalid.
 */
export type ApiOutcome =
  | ({ readonly kind: 'response' } & ApiResponse)
  | { readonly kind: 'refused' | 'notAccepted' }
  | { readonly kind: 'broken'; readonly reason: string };

export interface ApiTarget {
  readonly baseUrl: string;
  readonly headers: Readonly<Record<string, string>>;
  /** Default: Node's own. */
  readonly agent?: Agent;
}

/** Longer than the api takes for a trigger that no checker runs. */
const TIMEOUT_MS = 40_000;
const REQUEST_WITHIN_MS = 600_000;
const RETRY_MS = 150;
/** The api limits the rate of sign-ins. */
const RETRY_SIGN_IN_MS = 3_000;
const DASHBOARD = '/api/dashboard';

export function bearer(apiKey: string): Record<string, string> {
  return { Authorization: `Bearer ${apiKey}` };
}

/** Sends one call. Never rejects. */
export function callApi(target: ApiTarget, { method, path, body }: ApiCall): Promise<ApiOutcome> {
  const headers = { ...target.headers, ...(body !== undefined && { 'Content-Type': 'application/json' }) };
  const options = { method, headers, timeout: TIMEOUT_MS, ...(target.agent && { agent: target.agent }) };
  return new Promise((resolve) => {
    const sent = request(target.baseUrl + path, options, (response) => {
      let text = '';
      response.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
      response.on('end', () => resolve(parse(response, text)));
      response.on('error', ({ message }) => resolve({ kind: 'broken', reason: `response: ${message}` }));
    });
    sent.on('timeout', () => sent.destroy(new Error('timeout')));
    sent.on('error', (error) => resolve(outcomeOf(error, sent)));
    sent.end(body === undefined ? undefined : JSON.stringify(body));
  });
}

function parse({ statusCode: status = 0, headers }: IncomingMessage, text: string): ApiOutcome {
  if (headers['content-type']?.startsWith('text/plain')) return { kind: 'response', status, body: text };
  try {
    return { kind: 'response', status, body: text === '' ? null : (JSON.parse(text) as unknown) };
  } catch {
    return { kind: 'broken', reason: `a response ${status} that is not JSON` };
  }
}

function outcomeOf(error: NodeJS.ErrnoException, sent: ClientRequest): ApiOutcome {
  if (error.code === 'ECONNREFUSED') return { kind: 'refused' };
  if (error.code === 'ECONNRESET' && !sent.reusedSocket) return { kind: 'notAccepted' };
  return { kind: 'broken', reason: `${sent.reusedSocket ? 'kept' : 'new'} connection: ${error.message}` };
}

/** Sends one call. @throws Error without a response */
export async function fetchApi(target: ApiTarget, call: ApiCall): Promise<ApiResponse> {
  const outcome = await callApi(target, call);
  if (outcome.kind === 'response') return { status: outcome.status, body: outcome.body };
  const reason = outcome.kind === 'broken' ? outcome.reason : outcome.kind;
  throw new Error(`${call.method} ${call.path}: ${reason}`);
}

/** An api that a client can send requests to. */
export interface ApiReplica {
  readonly isReady: boolean;
  /** 0 while it does not listen. */
  readonly port: number;
}

/** A client of several replicas, which retries at another one after an error, as behind a load balancer. Signs in to the dashboard. */
export class ApiClient {
  /** The number of responses by status; 0 stands for no response. */
  readonly statuses = new Map<number, number>();
  readonly #replicas: readonly ApiReplica[];
  readonly #apiKey: string;
  // Connections to a replica that was killed must not be kept.
  readonly #agent = new Agent({ keepAlive: false });
  #cookie = '';
  #signingIn: Promise<void> | undefined;
  #turn = 0;

  constructor(replicas: readonly ApiReplica[], apiKey: string) {
    this.#replicas = replicas;
    this.#apiKey = apiKey;
  }

  /** One request to one replica. @throws Error without a response */
  async send({ port }: ApiReplica, method: string, path: string, body?: object): Promise<ApiResponse> {
    const headers = path.startsWith(DASHBOARD)
      ? { Cookie: this.#cookie, Origin: PUBLIC_URL }
      : bearer(this.#apiKey);
    const target = { baseUrl: `http://127.0.0.1:${port}`, headers, agent: this.#agent };
    const response = fetchApi(target, { method, path, body });
    const { status } = await response.catch(() => ({ status: 0 }));
    this.statuses.set(status, (this.statuses.get(status) ?? 0) + 1);
    return response;
  }

  /** Repeats a request, at one replica after the other, until one responds with a status below 500. @throws Error after 10 minutes */
  async request(method: string, path: string, body?: object): Promise<ApiResponse> {
    const deadline = Date.now() + REQUEST_WITHIN_MS;
    while (Date.now() < deadline) {
      this.#turn += 1;
      const replica = this.#replicas[this.#turn % this.#replicas.length];
      const cookie = this.#cookie;
      if (replica?.isReady) {
        // No response: the replica was killed, is stopped or too slow.
        const response = await this.send(replica, method, path, body).catch(() => null);
        const isRefused = response?.status === 401 && path.startsWith(DASHBOARD);
        if (isRefused) await this.#signIn(replica, cookie);
        else if (response && response.status < 500) return response;
      }
      await wait(RETRY_MS);
    }
    throw new Error(`no response to ${method} ${path} within ${REQUEST_WITHIN_MS} ms`);
  }

  /**
   * An api whose clock is far ahead treats every session as expired, and deletes it. Its own sessions are valid at the others too.
   * @param refused the rejected cookie; another request may have signed in since
   */
  async #signIn({ port }: ApiReplica, refused: string): Promise<void> {
    if (refused !== this.#cookie) return;
    this.#signingIn ??= openSession({ port })
      .then((session) => void (this.#cookie = session.cookie))
      .catch(() => wait(RETRY_SIGN_IN_MS))
      .finally(() => (this.#signingIn = undefined));
    await this.#signingIn;
  }
}
