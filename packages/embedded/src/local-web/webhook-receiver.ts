import { once } from 'node:events';
import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http';
import { createServer, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import { createCertificate } from '../certificates.ts';

/** One webhook as it came in. */
export interface ReceivedWebhook {
  readonly at: Date;
  readonly path: string;
  readonly method: string;
  readonly headers: IncomingHttpHeaders;
  /** The very bytes, as text. */
  readonly body: string;
}

/** What a receiver does with a webhook once it is in the log. */
export type Answer = (webhook: ReceivedWebhook, response: ServerResponse) => void;

/** An HTTPS server on this machine that logs the webhooks it gets: for tests and the demo. */
export class WebhookReceiver {
  readonly received: ReceivedWebhook[] = [];
  /** PEM of the CA that a notifier must trust to deliver here (`WEBHOOK_CA_FILE`). */
  readonly ca: string;
  answer: Answer;
  readonly #server: Server;

  private constructor(server: Server, ca: string, answer: Answer) {
    this.#server = server;
    this.ca = ca;
    this.answer = answer;
    server.on('request', (request, response) => void this.#receive(request, response));
  }

  /** @param answer by default 200 at once */
  static async start(
    answer: Answer = (_, response) => {
      response.writeHead(200).end('thanks');
    },
  ): Promise<WebhookReceiver> {
    const { ca, key, cert } = await createCertificate(['127.0.0.1', 'localhost']);
    const server = createServer({ key, cert, keepAlive: false });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    return new WebhookReceiver(server, ca, answer);
  }

  url(path = '/'): string {
    const { port } = this.#server.address() as AddressInfo;
    return `https://127.0.0.1:${port}${path}`;
  }

  async stop(): Promise<void> {
    const closed = once(this.#server, 'close');
    this.#server.close();
    this.#server.closeAllConnections();
    await closed;
  }

  async #receive(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    try {
      for await (const chunk of request as AsyncIterable<Buffer>) chunks.push(chunk);
    } catch {
      // A sender that was killed half-way has delivered nothing.
      return;
    }
    const webhook: ReceivedWebhook = {
      at: new Date(),
      path: request.url ?? '/',
      method: request.method ?? '',
      headers: request.headers,
      body: Buffer.concat(chunks).toString('utf8'),
    };
    this.received.push(webhook);
    this.answer(webhook, response);
  }
}
