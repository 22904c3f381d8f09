import { once } from 'node:events';
import { Agent, request, type IncomingHttpHeaders, type IncomingMessage } from 'node:http';

export interface WireRequest {
  readonly method: string;
  /** Sent unchanged in the request line. */
  readonly path: string;
  readonly headers?: Readonly<Record<string, string | readonly string[]>>;
  readonly body?: Buffer | null;
  readonly isChunked?: boolean;
}

export interface WireResponse {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  /** The body, or the first chunk of an event stream. */
  readonly text: string;
  readonly durationMs: number;
}

/** Exceeds every timeout of the api by far, because the machine may be busy. */
const TIMEOUT_MS = 30_000;
const MAX_HEADER_BYTES = 64 * 1024;

/** A client of one api process with its own connections. */
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
