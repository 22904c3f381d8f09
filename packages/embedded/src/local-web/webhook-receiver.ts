import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http';
import { createCertificate } from '../certificates.ts';
import { LocalServer, type LocalServerOptions } from './local-server.ts';

export interface ReceivedWebhook {
  readonly at: Date;
  /** Destination address. */
  readonly address: string;
  readonly path: string;
  readonly method: string;
  readonly headers: IncomingHttpHeaders;
  /** The exact body. */
  readonly body: string;
}

/** Responds to a webhook that is already in the log. */
export type Respond = (webhook: ReceivedWebhook, response: ServerResponse) => void;

interface ReceiverOptions extends Omit<LocalServerOptions, 'tls'> {
  /** Names and addresses in the certificate. */
  readonly hosts?: readonly string[];
}

/** A local HTTPS server that logs webhooks, for tests and the demo. */
export class WebhookReceiver {
  readonly received: ReceivedWebhook[] = [];
  /** PEM of the CA that a notifier must trust (`WEBHOOK_CA_FILE`). */
  readonly ca: string;
  respond: Respond;
  #server!: LocalServer;

  private constructor(ca: string, respond: Respond) {
    this.ca = ca;
    this.respond = respond;
  }

  /** @param respond responds with 200 by default */
  static async start(
    respond: Respond = (_, response) => {
      response.writeHead(200).end('thanks');
    },
    { hosts = ['127.0.0.1', 'localhost'], ...options }: ReceiverOptions = {},
  ): Promise<WebhookReceiver> {
    const { ca, ...tls } = await createCertificate(hosts);
    const receiver = new WebhookReceiver(ca, respond);
    receiver.#server = await LocalServer.start(
      (request, response) => void receiver.#receive(request, response),
      { ...options, tls },
    );
    return receiver;
  }

  url(path = '/', host?: string): string {
    return this.#server.url(path, host);
  }

  /** Resets the TCP connection of a webhook. */
  reset(response: ServerResponse): void {
    this.#server.reset(response.req);
  }

  async stop(): Promise<void> {
    await this.#server.stop();
  }

  async #receive(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    try {
      for await (const chunk of request as AsyncIterable<Buffer>) chunks.push(chunk);
    } catch {
      // A sender that ends halfway has delivered nothing.
      return;
    }
    const webhook: ReceivedWebhook = {
      at: new Date(),
      address: request.socket.localAddress ?? '',
      path: request.url ?? '/',
      method: request.method ?? '',
      headers: request.headers,
      body: Buffer.concat(chunks).toString('utf8'),
    };
    this.received.push(webhook);
    this.respond(webhook, response);
  }
}
