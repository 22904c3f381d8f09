import { request as requestHttp, type IncomingMessage } from 'node:http';
import { request as requestHttps } from 'node:https';
import { createInterface } from 'node:readline';
import { VERSION } from '../version.ts';
import type { Connection } from './connection.ts';

/** A response of the API server other than a success. */
export class KubernetesError extends Error {
  override readonly name = 'KubernetesError';
  readonly status: number;

  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

export interface KubernetesRequest {
  readonly method?: 'GET' | 'POST' | 'PUT' | 'PATCH';
  /** Path and query, with the first slash. */
  readonly path: string;
  /** Sent as JSON, or with `PATCH` as a JSON merge patch. */
  readonly body?: object;
  readonly signal?: AbortSignal | undefined;
}

const TIMEOUT_MS = 30_000;
/** The API server ends a watch after this time. */
const WATCH_SECONDS = 300;
const KEEP_ALIVE_MS = 10_000;

/**
 * Sends requests to an API server. The official client is not used because importing its configuration takes about 70 MB, and its current
 * version does not run on Node.js 20.
 */
export class KubernetesClient {
  readonly #connection: Connection;

  constructor(connection: Connection) {
    this.#connection = connection;
  }

  /** @returns the parsed JSON @throws KubernetesError, or the error of the connection */
  async request<Result = unknown>(request: KubernetesRequest): Promise<Result> {
    const response = await this.#send(request, AbortSignal.timeout(TIMEOUT_MS));
    return JSON.parse(await readText(response)) as Result;
  }

  /**
   * Follows the changes of a list until the API server ends the response.
   * @param path of the list, without a query
   * @param version where the changes begin
   * @throws KubernetesError, with the status 410 if the changes since then are no longer known
   */
  async watch(
    path: string,
    version: string,
    onEvent: (type: string, object: unknown) => void,
    signal: AbortSignal,
  ): Promise<void> {
    const query = new URLSearchParams({
      watch: 'true',
      allowWatchBookmarks: 'true',
      resourceVersion: version,
      timeoutSeconds: String(WATCH_SECONDS),
    });
    const timeout = AbortSignal.timeout((WATCH_SECONDS + 30) * 1_000);
    const response = await this.#send({ path: `${path}?${query.toString()}`, signal }, timeout);
    // Detects a connection that broke without a packet.
    response.socket.setKeepAlive(true, KEEP_ALIVE_MS);
    const broken = new Promise<never>((_, reject) => response.once('error', reject));
    const read = async (): Promise<void> => {
      for await (const line of createInterface(response)) {
        const { type, object } = JSON.parse(line) as { readonly type: string; readonly object: unknown };
        if (type === 'ERROR') throw watchError(object);
        onEvent(type, object);
      }
    };
    try {
      await Promise.race([read(), broken]);
    } finally {
      response.destroy();
    }
  }

  async #send(
    { method = 'GET', path, body, signal }: KubernetesRequest,
    timeout: AbortSignal,
  ): Promise<IncomingMessage> {
    const { url, agent, authorization } = this.#connection;
    const text = body === undefined ? undefined : JSON.stringify(body);
    const bearer = authorization();
    const send = url.protocol === 'http:' ? requestHttp : requestHttps;
    const response = await new Promise<IncomingMessage>((resolve, reject) => {
      const request = send(`${url.href.replace(/\/$/, '')}${path}`, {
        method,
        agent,
        signal: signal === undefined ? timeout : AbortSignal.any([signal, timeout]),
        headers: {
          Accept: 'application/json',
          'User-Agent': `tocsin-operator/${VERSION}`,
          ...(bearer !== null && { Authorization: bearer }),
          ...(text !== undefined && {
            'Content-Type': method === 'PATCH' ? 'application/merge-patch+json' : 'application/json',
            'Content-Length': Buffer.byteLength(text),
          }),
        },
      });
      request.once('response', resolve);
      request.on('error', reject);
      request.end(text);
    });
    const { statusCode: status = 0 } = response;
    if (status >= 200 && status < 300) return response;
    throw new KubernetesError(status, messageOf(await readText(response)) || `status ${status}`);
  }
}

function watchError(object: unknown): KubernetesError {
  const { code = 500, message = 'the watch failed' } = object as { code?: number; message?: string };
  return new KubernetesError(code, message);
}

async function readText(response: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of response) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString();
}

/** The API server explains a failure with an object of the kind Status. */
function messageOf(text: string): string {
  try {
    const { message = '' } = JSON.parse(text) as { readonly message?: string };
    return message;
  } catch {
    return text.slice(0, 200);
  }
}
