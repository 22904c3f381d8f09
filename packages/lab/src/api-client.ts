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
  /** Parsed JSON, plain text, or null without a body. */
  readonly body: unknown;
}

/**
 * The result of a call. A `refused` call found nothing on the port. A call is `notAccepted` if a new connection was reset before any byte
 * of a response, because the server stopped listening. It is `broken` if an established connection broke, or the response was invalid.
 */
export type ApiOutcome =
  | ({ readonly kind: 'response' } & ApiResponse)
  | { readonly kind: 'refused' | 'notAccepted' }
  | { readonly kind: 'broken'; readonly reason: string };

export interface ApiTarget {
  readonly baseUrl: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly agent?: Agent;
}

/** Longer than the api waits for a trigger that no checker runs. */
const TIMEOUT_MS = 40_000;
const REQUEST_WITHIN_MS = 600_000;
const RETRY_MS = 150;
/** The api limits the rate of sign-ins. */
const RETRY_SIGN_IN_MS = 3_000;
const DASHBOARD = '/api/dashboard';

export function bearer(apiKey: string): Record<string, string> {
  return { Authorization: `Bearer ${apiKey}` };
}

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

/** Sends a call. @throws Error without a response */
export async function fetchApi(target: ApiTarget, call: ApiCall): Promise<ApiResponse> {
  const outcome = await callApi(target, call);
  if (outcome.kind === 'response') return { status: outcome.status, body: outcome.body };
  const reason = outcome.kind === 'broken' ? outcome.reason : outcome.kind;
  throw new Error(`${call.method} ${call.path}: ${reason}`);
}

export interface ApiReplica {
  readonly isReady: boolean;
  /** 0 while the api does not listen. */
  readonly port: number;
}

/** A client of several replicas, which retries at another replica after an error, as behind a load balancer. */
export class ApiClient {
  /** Number of responses by status. 0 stands for no response. */
  readonly statuses = new Map<number, number>();
  readonly #replicas: readonly ApiReplica[];
  readonly #apiKey: string;
  readonly #publicUrl: string;
  // A connection to a replica that was killed must not be reused.
  readonly #agent = new Agent({ keepAlive: false });
  #cookie = '';
  #signingIn: Promise<void> | undefined;
  #turn = 0;

  /** @param publicUrl PUBLIC_URL of the apis */
  constructor(replicas: readonly ApiReplica[], apiKey: string, publicUrl = PUBLIC_URL) {
    this.#replicas = replicas;
    this.#apiKey = apiKey;
    this.#publicUrl = publicUrl;
  }

  /** Sends a request to one replica. @throws Error without a response */
  async send({ port }: ApiReplica, method: string, path: string, body?: object): Promise<ApiResponse> {
    const headers = path.startsWith(DASHBOARD)
      ? { Cookie: this.#cookie, Origin: this.#publicUrl }
      : bearer(this.#apiKey);
    const target = { baseUrl: `http://127.0.0.1:${port}`, headers, agent: this.#agent };
    const response = fetchApi(target, { method, path, body });
    const { status } = await response.catch(() => ({ status: 0 }));
    this.statuses.set(status, (this.statuses.get(status) ?? 0) + 1);
    return response;
  }

  /** Repeats a request at alternating replicas until one responds with a status below 500. @throws Error after 10 minutes */
  async request(method: string, path: string, body?: object): Promise<ApiResponse> {
    const deadline = Date.now() + REQUEST_WITHIN_MS;
    while (Date.now() < deadline) {
      this.#turn += 1;
      const replica = this.#replicas[this.#turn % this.#replicas.length];
      const cookie = this.#cookie;
      if (replica?.isReady) {
        // Without a response, the replica was killed, is stopped or too slow.
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
   * Signs in again, because an api whose clock is far ahead deletes every session. New sessions are valid at all apis.
   * @param refused the rejected cookie. Another request may have signed in since
   */
  async #signIn({ port }: ApiReplica, refused: string): Promise<void> {
    if (refused !== this.#cookie) return;
    this.#signingIn ??= openSession({ port }, undefined, this.#publicUrl)
      .then((session) => void (this.#cookie = session.cookie))
      .catch(() => wait(RETRY_SIGN_IN_MS))
      .finally(() => (this.#signingIn = undefined));
    await this.#signingIn;
  }
}
