import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer, type Server } from 'node:https';
import type { Socket } from 'node:net';
import { createCertificate } from '@tocsin/embedded/certificates';
import type { Misbehaviour } from '../plan/fault-kinds.ts';
import type { ChannelPlan } from '../plan/plan-world.ts';
import { Checkpoint } from './checkpoint.ts';
import { listenOn, type Listeners } from './listen.ts';

/** What the receivers are called. */
const RECEIVERS_NAME = 'receivers.tocsin.test';

const RETRY_AFTER_SECONDS = 2;

/** A webhook as it came in, and what was answered. */
export interface Receipt {
  readonly at: number;
  /** Of the channel. */
  readonly key: string;
  /** Where it came to: which notifier sent it. */
  readonly address: string;
  /** Header `webhook-id`. */
  readonly id: string;
  /** Header `webhook-timestamp`, epoch seconds as text. */
  readonly signedAt: string;
  readonly signature: string;
  readonly body: string;
  /** Null where it got no answer. */
  status: number | null;
}

/** HTTPS servers that channels send to, with a log of every byte, each as good or bad as it is told to be. */
export class Receivers {
  readonly receipts: Receipt[] = [];
  /** Requests to anything that is no receiver: somebody followed a redirect, or made something up. */
  readonly strays: string[] = [];
  /** Connections pass it before their first byte is read. */
  readonly connections = new Checkpoint<{ readonly address: string }>();
  /** Webhooks pass it after they were received, before they are answered. */
  readonly webhooks = new Checkpoint<Receipt>();
  readonly ca: string;
  readonly #channels: ReadonlyMap<string, ChannelPlan>;
  readonly #misbehaviours = new Map<string, Misbehaviour>();
  readonly #server: Server;
  /** What is below TLS, by peer: only that can be reset. */
  readonly #sockets = new Map<string, Socket>();
  #listeners: Listeners | undefined;

  private constructor(channels: readonly ChannelPlan[], server: Server, ca: string) {
    this.#channels = new Map(channels.map((channel) => [channel.key, channel]));
    this.ca = ca;
    this.#server = server;
    server.on('request', (request, response) => void this.#receive(request, response));
    // Handshakes of those who were killed.
    server.on('tlsClientError', () => undefined);
  }

  static async start(channels: readonly ChannelPlan[], addresses: readonly string[]): Promise<Receivers> {
    const { ca, key, cert } = await createCertificate([RECEIVERS_NAME]);
    const receivers = new Receivers(channels, createServer({ key, cert, keepAlive: false }), ca);
    receivers.#listeners = await listenOn(addresses, (socket, address) => {
      void receivers.#admit(socket, address);
    });
    return receivers;
  }

  urlOf(key: string): string {
    return `https://${RECEIVERS_NAME}:${this.#listeners?.port ?? 0}/${key}`;
  }

  /** @param misbehaviour null: from now on it answers as it should */
  behave(key: string, misbehaviour: Misbehaviour | null): void {
    if (misbehaviour === null) this.#misbehaviours.delete(key);
    else this.#misbehaviours.set(key, misbehaviour);
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    await this.#listeners?.close();
  }

  async #admit(socket: Socket, address: string): Promise<void> {
    await this.connections.pass({ address });
    if (socket.destroyed) return;
    const peer = peerOf(socket);
    this.#sockets.set(peer, socket);
    socket.on('close', () => this.#sockets.delete(peer));
    this.#server.emit('connection', socket);
    socket.resume();
  }

  async #receive(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    try {
      for await (const chunk of request as AsyncIterable<Buffer>) chunks.push(chunk);
    } catch {
      // A sender that was killed half-way has delivered nothing.
      return;
    }
    const key = (request.url ?? '/').slice(1);
    const channel = this.#channels.get(key);
    if (channel === undefined || request.method !== 'POST') {
      this.strays.push(`${request.method} ${request.url}`);
      response.writeHead(404).end();
      return;
    }
    const header = (name: string): string => String(request.headers[name] ?? '');
    const receipt: Receipt = {
      at: Date.now(),
      key,
      address: request.socket.localAddress ?? '',
      id: header('webhook-id'),
      signedAt: header('webhook-timestamp'),
      signature: header('webhook-signature'),
      body: Buffer.concat(chunks).toString('utf8'),
      status: null,
    };
    this.receipts.push(receipt);
    await this.webhooks.pass(receipt);
    this.#answer(receipt, channel, response);
  }

  #answer(receipt: Receipt, channel: ChannelPlan, response: ServerResponse): void {
    const misbehaviour = channel.kind === 'broken' ? '500' : (this.#misbehaviours.get(receipt.key) ?? null);
    const answer = (status: number, headers: Record<string, string> = {}): void => {
      receipt.status = status;
      response.writeHead(status, headers).end('thanks');
    };
    switch (misbehaviour) {
      case null:
        return answer(200);
      case 'hang':
        return;
      case 'reset':
        this.#sockets.get(peerOf(response.req.socket))?.resetAndDestroy();
        return;
      case 'drop':
        receipt.status = 200;
        response.writeHead(200, { 'Content-Length': '100' }).write('than');
        // Once the head is out: before, it would be a reset.
        setImmediate(() => response.socket?.end());
        return;
      case '429':
        return answer(429, { 'Retry-After': String(RETRY_AFTER_SECONDS) });
      case '301':
        return answer(301, { Location: `https://${String(response.req.headers.host)}/elsewhere` });
      case '500':
      case '410':
        return answer(Number(misbehaviour));
    }
  }
}

function peerOf({ localAddress, remotePort }: Socket): string {
  return `${localAddress}:${remotePort}`;
}
