import type { ServerResponse } from 'node:http';
import { setTimeout as wait } from 'node:timers/promises';
import { WebhookReceiver, type ReceivedWebhook } from '@tocsin/embedded/local-web/webhook-receiver';
import { Checkpoint } from './checkpoint.ts';

/** Resolves to the address of the replica that looks it up (`fake-resolver.ts`). */
const RECEIVERS_NAME = 'receivers.tocsin.test';
const RETRY_AFTER_SECONDS = 2;

export const MISBEHAVIORS = ['hang', 'reset', '500', '429', '503', '301', 'drop', '410'] as const;
export type Misbehavior = (typeof MISBEHAVIORS)[number];

/** A received webhook with the status of its response. */
export interface Receipt {
  readonly at: number;
  readonly key: string;
  /** Address of the receiver, which identifies the replica. */
  readonly address: string;
  readonly id: string;
  /** Header `webhook-timestamp`, in epoch seconds. */
  readonly signedAt: string;
  readonly signature: string;
  readonly body: string;
  status: number | null;
}

export interface ReceiversOptions {
  readonly keys: readonly string[];
  /** Milliseconds until the response. Defaults to none. */
  readonly delayMs?: () => number;
  readonly addresses?: readonly string[];
}

/** The HTTPS servers that channels send to. Each channel has a path, and all webhooks are logged. */
export class Receivers {
  readonly receipts: Receipt[] = [];
  /** Requests to other paths, such as the target of a redirect. */
  readonly strays: string[] = [];
  /** Holds connections before their first byte is read. */
  readonly connections = new Checkpoint<{ readonly address: string }>();
  /** Holds webhooks before their response. */
  readonly webhooks = new Checkpoint<Receipt>();
  /** Misbehavior by key. Other receivers respond with 200. */
  readonly misbehaviors = new Map<string, Misbehavior>();
  readonly #options: ReceiversOptions;
  #server!: WebhookReceiver;

  private constructor(options: ReceiversOptions) {
    this.#options = options;
  }

  static async start(options: ReceiversOptions): Promise<Receivers> {
    const receivers = new Receivers(options);
    receivers.#server = await WebhookReceiver.start(
      (webhook, response) => void receivers.#receive(webhook, response),
      {
        hosts: [RECEIVERS_NAME, '127.0.0.1'],
        admit: (address) => receivers.connections.pass({ address }),
        ...(options.addresses && { addresses: options.addresses }),
      },
    );
    return receivers;
  }

  /** PEM of the CA that notifiers must trust. */
  get ca(): string {
    return this.#server.ca;
  }

  url(key: string, host = RECEIVERS_NAME): string {
    return this.#server.url(`/${key}`, host);
  }

  async stop(): Promise<void> {
    await this.#server.stop();
  }

  async #receive(webhook: ReceivedWebhook, response: ServerResponse): Promise<void> {
    const { at, address, path, method, headers, body } = webhook;
    const key = path.slice(1);
    if (!this.#options.keys.includes(key) || method !== 'POST') {
      this.strays.push(`${method} ${path}`);
      response.writeHead(404).end();
      return;
    }
    const receipt: Receipt = {
      at: at.getTime(),
      key,
      address,
      id: String(headers['webhook-id']),
      signedAt: String(headers['webhook-timestamp']),
      signature: String(headers['webhook-signature']),
      body,
      status: null,
    };
    this.receipts.push(receipt);
    await this.webhooks.pass(receipt);
    const delayMs = this.#options.delayMs?.() ?? 0;
    if (delayMs > 0) await wait(delayMs);
    this.#respond(receipt, response);
  }

  #respond(receipt: Receipt, response: ServerResponse): void {
    const misbehavior = this.misbehaviors.get(receipt.key);
    if (misbehavior === 'hang') return;
    if (misbehavior === 'reset') {
      this.#server.reset(response);
      return;
    }
    if (misbehavior === 'drop') {
      receipt.status = 200;
      response.writeHead(200, { 'Content-Length': '100' }).write('than');
      // Before the head is sent, this would reset the connection.
      setImmediate(() => response.socket?.end());
      return;
    }
    receipt.status = Number(misbehavior ?? 200);
    if (misbehavior === '429' || misbehavior === '503')
      response.setHeader('Retry-After', String(RETRY_AFTER_SECONDS));
    if (misbehavior === '301')
      response.setHeader('Location', `https://${response.req.headers.host}/elsewhere`);
    response.writeHead(receipt.status).end('thanks');
  }
}
