import { Agent, request, type IncomingHttpHeaders, type IncomingMessage } from 'node:http';

export interface WireRequest {
  readonly method: string;
  /** Sent as it is in the request line. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string | readonly string[]>>;
  readonly body: Buffer | null;
  readonly isChunked: boolean;
}

export interface WireResponse {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  /** Of an event stream, the first chunk. */
  readonly text: string;
  readonly durationMs: number;
}

/** Far beyond every timeout of the api, so that a busy machine does not fail a run. */
const TIMEOUT_MS = 30_000;

/** A client of one api process, with connections of its own. */
export class WireClient {
  readonly #port: number;
  readonly #agent = new Agent({ keepAlive: true, maxSockets: 4 });

  constructor(port: number) {
    this.#port = port;
  }

  /** @throws Error if no response arrives in time */
  send({ method, path, headers, body, isChunked }: WireRequest): Promise<WireResponse> {
    return new Promise((resolve, reject) => {
      const startedAt = performance.now();
      // Requests may have larger heads than the api accepts.
      const maxHeaderSize = 64 * 1024;
      const outgoing = request({
        host: '127.0.0.1',
        port: this.#port,
        agent: this.#agent,
        method,
        path,
        maxHeaderSize,
      });
      const timer = setTimeout(
        () => outgoing.destroy(new Error(`no response within ${TIMEOUT_MS} ms`)),
        TIMEOUT_MS,
      );
      outgoing.once('close', () => clearTimeout(timer));
      outgoing.on('error', reject);
      outgoing.once('response', (response) => resolve(readResponse(response, startedAt)));
      for (const [name, value] of Object.entries(headers)) outgoing.setHeader(name, value);
      if (body !== null && isChunked) outgoing.setHeader('Transfer-Encoding', 'chunked');
      if (body !== null && !isChunked) outgoing.setHeader('Content-Length', body.length);
      if (body !== null) outgoing.write(body);
      outgoing.end();
    });
  }

  close(): void {
    this.#agent.destroy();
  }
}

async function readResponse(response: IncomingMessage, startedAt: number): Promise<WireResponse> {
  const { statusCode: status = 0, headers } = response;
  const chunks: Buffer[] = [];
  for await (const chunk of response) {
    chunks.push(chunk as Buffer);
    if (headers['content-type'] === 'text/event-stream') break;
  }
  const text = Buffer.concat(chunks).toString('utf8');
  return { status, headers, text, durationMs: performance.now() - startedAt };
}
