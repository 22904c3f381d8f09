import { Agent, request, type IncomingHttpHeaders, type IncomingMessage } from 'node:http';

export interface WireRequest {
  readonly method: string;
  /** As it stands in the first line. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string | readonly string[]>>;
  readonly body: Buffer | null;
  readonly isChunked: boolean;
}

export interface Answer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  /** Of a stream, its beginning. */
  readonly text: string;
  readonly durationMs: number;
}

/** No answer of the api takes longer, on a machine that does much else too: what waits for others has its own, shorter, time. */
const ANSWER_WITHIN_MS = 30_000;

/** A client of one api process, with connections of its own. */
export class WireClient {
  readonly #port: number;
  readonly #agent = new Agent({ keepAlive: true, maxSockets: 4 });

  constructor(port: number) {
    this.#port = port;
  }

  /** @throws Error where there is no answer in time, or none at all */
  send(wire: WireRequest): Promise<Answer> {
    return new Promise((resolve, reject) => {
      const startedAt = performance.now();
      const outgoing = request({
        host: '127.0.0.1',
        port: this.#port,
        agent: this.#agent,
        method: wire.method,
        path: wire.path,
        // A head of ours may be larger than what the api takes.
        maxHeaderSize: 64 * 1024,
      });
      const late = setTimeout(
        () => outgoing.destroy(new Error(`no answer within ${ANSWER_WITHIN_MS} ms`)),
        ANSWER_WITHIN_MS,
      );
      outgoing.once('close', () => clearTimeout(late));
      outgoing.on('error', reject);
      outgoing.once('response', (response) => {
        resolve(answerOf(response, startedAt));
      });
      for (const [name, value] of Object.entries(wire.headers)) outgoing.setHeader(name, value);
      if (wire.body !== null && !wire.isChunked) outgoing.setHeader('Content-Length', wire.body.length);
      if (wire.body !== null && wire.isChunked) outgoing.setHeader('Transfer-Encoding', 'chunked');
      if (wire.body !== null) outgoing.write(wire.body);
      outgoing.end();
    });
  }

  close(): void {
    this.#agent.destroy();
  }
}

async function answerOf(response: IncomingMessage, startedAt: number): Promise<Answer> {
  const text = await read(response);
  const { statusCode = 0, headers } = response;
  return { status: statusCode, headers, text, durationMs: performance.now() - startedAt };
}

async function read(response: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  const isEndless = response.headers['content-type'] === 'text/event-stream';
  for await (const chunk of response) {
    chunks.push(chunk as Buffer);
    if (isEndless) break;
  }
  return Buffer.concat(chunks).toString('utf8');
}
