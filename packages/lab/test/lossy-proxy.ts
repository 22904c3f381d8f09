import { type IncomingMessage, request, type ServerResponse } from 'node:http';
import { buffer } from 'node:stream/consumers';
import { LocalServer } from '@tocsin/embedded/local-web/local-server';
import type { Random } from '@tocsin/lab/random';

/** A request that reached the api. */
export interface Exchange {
  readonly method: string;
  readonly ifMatch: string | undefined;
  /** Status and ETag of the response, unless the api ended before it. */
  status?: number;
  etag?: string | undefined;
}

interface Shares {
  readonly lostRequests: number;
  readonly lostResponses: number;
  readonly duplicates: number;
}

/** Forwards requests to an api, but loses and repeats some of them. */
export class LossyProxy {
  /** By `X-Request-Id`, which the proxy sets. */
  readonly exchanges = new Map<string, Exchange>();
  lostResponses = 0;
  /** Called before each request. */
  onRequest: () => void = () => undefined;
  shares: Shares = { lostRequests: 0, lostResponses: 0, duplicates: 0 };
  readonly #apiPort: () => number;
  readonly #random: Random;
  #server!: LocalServer;

  private constructor(apiPort: () => number, random: Random) {
    this.#apiPort = apiPort;
    this.#random = random;
  }

  static async start(apiPort: () => number, random: Random): Promise<LossyProxy> {
    const proxy = new LossyProxy(apiPort, random);
    proxy.#server = await LocalServer.start((req, res) => {
      proxy.#handle(req, res).catch(() => proxy.#server.reset(req));
    });
    return proxy;
  }

  get url(): string {
    return this.#server.url('');
  }

  async stop(): Promise<void> {
    await this.#server.stop();
  }

  async #handle(req: IncomingMessage, res: ServerResponse): Promise<void> {
    const body = await buffer(req);
    this.onRequest();
    const losesRequest = this.#random.chance(this.shares.lostRequests);
    const isDuplicate = this.#random.chance(this.shares.duplicates);
    const losesResponse = this.#random.chance(this.shares.lostResponses);
    if (losesRequest) throw new Error('lost');
    const copies = Array.from({ length: isDuplicate ? 2 : 1 }, () => this.#forward(req, body));
    const [response] = (await Promise.all(copies)).toReversed();
    if (losesResponse) this.lostResponses += 1;
    if (losesResponse || response === undefined) throw new Error('lost');
    res.writeHead(response.status, response.headers).end(response.body);
  }

  async #forward(
    { method = 'GET', url, headers }: IncomingMessage,
    body: Buffer,
  ): Promise<{ status: number; headers: IncomingMessage['headers']; body: Buffer }> {
    const id = String(this.exchanges.size);
    const exchange: Exchange = { method, ifMatch: headers['if-match'] };
    this.exchanges.set(id, exchange);
    const response = await new Promise<IncomingMessage>((resolve, reject) => {
      const target = { host: '127.0.0.1', port: this.#apiPort(), path: url, method };
      request({ ...target, headers: { ...headers, 'x-request-id': id } }, resolve)
        .on('error', reject)
        .end(body);
    });
    const { statusCode: status = 0 } = response;
    Object.assign(exchange, { status, etag: response.headers.etag });
    return { status, headers: response.headers, body: await buffer(response) };
  }
}
