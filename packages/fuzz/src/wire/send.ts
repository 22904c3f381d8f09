import { once } from 'node:events';
import { Agent, request, type IncomingHttpHeaders, type IncomingMessage } from 'node:http';

export interface WireRequest {
  readonly method: string;
  /** Sent as it is in the request line. */
  readonly path: string;
  readonly headers?: Readonly<Record<string, string | readonly string[]>>;
  readonly body?: Buffer | null;
  readonly isChunked?: boolean;
}

export interface WireResponse {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  /** The body; of an event stream, its first chunk. */
  readonly text: string;
  readonly durationMs: number;
}

/** Far beyond every timeout of the api, so that a busy machine does not fail a run. */
const TIMEOUT_MS = 30_000;
/** Requests may have larger heads than the api accepts. */
const MAX_HEADER_BYTES = 64 * 1024;

/** A client of one api process, with connections of its own. */
export class WireClient {
  readonly #port: number;
  readonly #agent = new Agent({ keepAlive: true, maxSockets: 4 });

  constructor(port: number) {
    this.#port = port;
  }

  /** @throws Error if no response arrives in time */
  async send({ method, path, headers = {}, body = null, isChunked }: WireRequest): Promise<WireResponse> {
    const startedAt = performance.now();
    const outgoing = request({
      host: '127.0.0.1',
      port: this.#port,
      agent: this.#agent,
      method,
      path,
      maxHeaderSize: MAX_HEADER_BYTES,
      signal: AbortSignal.timeout(TIMEOUT_MS),
    });
    for (const [name, value] of Object.entries(headers)) outgoing.setHeader(name, value);
    if (body !== null && isChunked) outgoing.setHeader('Transfer-Encoding', 'chunked');
    else if (body !== null) outgoing.setHeader('Content-Length', body.length);
    // The api may close the connection after its response, before it has read the whole body.
    outgoing.on('error', () => undefined);
    outgoing.end(body ?? undefined);
    const [response] = (await once(outgoing, 'response')) as [IncomingMessage];
    const chunks: Buffer[] = [];
    for await (const chunk of response) {
      chunks.push(chunk as Buffer);
      if (response.headers['content-type'] === 'text/event-stream') break;
    }
    return {
      status: response.statusCode ?? 0,
      headers: response.headers,
      text: Buffer.concat(chunks).toString('utf8'),
      durationMs: performance.now() - startedAt,
    };
  }

  close(): void {
    this.#agent.destroy();
  }
}
