import {
  AGENT_CLOSE,
  AGENT_PATH,
  AGENT_PROTOCOL,
  type AgentMessage,
  type GatewayMessage,
  MAX_GATEWAY_FRAME_BYTES,
  parseGatewayMessage,
} from '@tocsin/contracts/agents/protocol';
import type { Logger } from '@tocsin/runtime/logger';
import { HttpsProxyAgent } from 'https-proxy-agent';
import { WebSocket } from 'ws';
import { describeEnd, reconnectDelayMs } from './connection-end.ts';
import { Link, PING_EVERY_MS } from './link.ts';

const HANDSHAKE_WITHIN_MS = 10_000;
/** Maximum time from connecting to the gateway's first message. */
const WELCOME_WITHIN_MS = 20_000;
const CLOSE_WITHIN_MS = 1_000;
/** After a connection that lasted this long, the delay before the next one starts from its minimum again. */
const STABLE_AFTER_MS = 5_000;
/** Above this, results wait until earlier ones are sent, so that pings are not delayed over a slow link. */
const MAX_BUFFERED_BYTES = 128 * 1024;
const NORMAL_CLOSE = 1_000;
const PROTOCOL_ERROR = 1_002;
const UNAUTHORIZED = 401;
/** Responses of servers that are not gateways. */
const NO_GATEWAY: ReadonlySet<number> = new Set([200, 404, 405]);
/** A problem that lasts is logged this often. */
const LOG_AGAIN_AFTER_MS = 60_000;

export type WelcomedMessage = Exclude<GatewayMessage, { type: 'welcome' }>;

export interface ConnectionOptions {
  /** URL of Tocsin, which may have a path. */
  readonly url: string;
  readonly token: string;
  /** URL of an HTTP proxy, or null. */
  readonly proxy: string | null;
  readonly logger: Logger;
  /** Returns the first message of a connection. */
  readonly hello: () => AgentMessage;
  readonly onWelcome: (link: Link) => void;
  readonly onMessage: (message: WelcomedMessage, link: Link) => void;
  /** Called when a connection ends on which the gateway sent its welcome. @param isRefused true if it reported a protocol error */
  readonly onLost: (isRefused: boolean) => void;
}

/** Keeps one connection to a gateway, and connects again whenever it ends. */
export class GatewayConnection {
  readonly #options: ConnectionOptions;
  #socket: WebSocket | null = null;
  #link: Link | null = null;
  /** Connections in a row that ended early. */
  #attempts = 0;
  #logged: { readonly problem: string; readonly at: number } | null = null;
  #retry: NodeJS.Timeout | undefined;
  #isStopped = false;

  constructor(options: ConnectionOptions) {
    this.#options = options;
  }

  /** Null without a connection, and until the gateway has sent its welcome. */
  get link(): Link | null {
    return this.#link;
  }

  get isWritable(): boolean {
    return this.#link !== null && (this.#socket?.bufferedAmount ?? 0) < MAX_BUFFERED_BYTES;
  }

  /** @param text one message, which is dropped without a connection */
  send(text: string): void {
    if (this.#link !== null) this.#socket?.send(text);
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    clearTimeout(this.#retry);
    const socket = this.#socket;
    if (socket === null) return;
    close(socket, NORMAL_CLOSE);
    await new Promise((resolve) => socket.once('close', resolve));
  }

  connect(): void {
    const startedAt = performance.now();
    const tunnel = new AbortController();
    const socket = this.#openSocket(tunnel.signal);
    this.#socket = socket;
    let problem = '';
    let status = 0;
    let pings: NodeJS.Timeout | undefined;
    const end = (reason: string): void => {
      problem = reason;
      socket.terminate();
    };
    const late = setTimeout(() => end('the gateway sent no welcome'), WELCOME_WITHIN_MS);
    const link = new Link({
      sendPing: (ping) => socket.ping(String(ping)),
      onDead: () => end('the gateway did not respond for 5 s'),
    });
    socket.on('open', () => {
      link.open();
      socket.send(JSON.stringify(this.#options.hello()));
      // If this process was paused, `setImmediate` lets it read the pongs that arrived meanwhile first.
      pings = setInterval(() => setImmediate(() => link.tick()), PING_EVERY_MS);
    });
    socket.on('pong', (data) => link.pong(Number(data.toString())));
    socket.on('message', (data: Buffer) => {
      if (socket.readyState !== WebSocket.OPEN) return;
      try {
        this.#receive(parseGatewayMessage(data.toString()), link);
        clearTimeout(late);
      } catch (error) {
        problem = `protocol error, ${String(error)}`;
        close(socket, PROTOCOL_ERROR);
      }
    });
    socket.on('unexpected-response', (_request, response) => {
      status = response.statusCode ?? 0;
      const hint = `no gateway at ${gatewayUrl(this.#options.url).href}. Set TOCSIN_URL to the URL that comes with a token.`;
      end(`HTTP status ${status}${NO_GATEWAY.has(status) ? `: ${hint}` : ''}`);
    });
    socket.on('error', (error) => (problem ||= error.message));
    socket.on('close', (code, reason) => {
      clearTimeout(late);
      clearInterval(pings);
      tunnel.abort();
      link.lose();
      if (performance.now() - startedAt > STABLE_AFTER_MS) this.#attempts = 0;
      this.#ended(
        status === UNAUTHORIZED ? AGENT_CLOSE.tokenRevoked : code,
        problem || reason.toString() || `code ${code}`,
      );
    });
  }

  #openSocket(signal: AbortSignal): WebSocket {
    const { url, token, proxy } = this.#options;
    return new WebSocket(gatewayUrl(url), AGENT_PROTOCOL, {
      headers: { authorization: `Bearer ${token}` },
      // Without the signal, the connection to a proxy that never responds would stay open.
      ...(proxy !== null && { agent: new HttpsProxyAgent(proxy, { signal }) }),
      handshakeTimeout: HANDSHAKE_WITHIN_MS,
      maxPayload: MAX_GATEWAY_FRAME_BYTES,
      perMessageDeflate: false,
    });
  }

  #receive(message: GatewayMessage, link: Link): void {
    const isWelcome = message.type === 'welcome';
    if (isWelcome !== (this.#link === null)) throw new TypeError(`unexpected message ${message.type}`);
    if (!isWelcome) return this.#options.onMessage(message, link);
    this.#link = link;
    this.#logged = null;
    const { region, version } = message;
    this.#options.logger.info('Connected to a gateway', { region, gatewayVersion: version });
    this.#options.onWelcome(link);
  }

  #ended(code: number, reason: string): void {
    const wasWelcomed = this.#link !== null;
    this.#socket = null;
    this.#link = null;
    if (wasWelcomed) this.#options.onLost(code === AGENT_CLOSE.protocolError);
    if (this.#isStopped) return;
    const { level, message } = describeEnd(code);
    const problem = `${message} ${reason}`;
    const now = performance.now();
    if (problem !== this.#logged?.problem || now - this.#logged.at >= LOG_AGAIN_AFTER_MS) {
      this.#options.logger.log(level, message, { reason });
      this.#logged = { problem, at: now };
    }
    this.#retry = setTimeout(() => this.connect(), reconnectDelayMs(code, this.#attempts));
    this.#attempts += 1;
  }
}

/** Closes the connection, even if the gateway no longer responds. */
function close(socket: WebSocket, code: number): void {
  socket.close(code);
  setTimeout(() => socket.terminate(), CLOSE_WITHIN_MS).unref();
}

function gatewayUrl(tocsin: string): URL {
  const url = new URL(tocsin);
  url.pathname = url.pathname.replace(/\/*$/, AGENT_PATH);
  url.search = '';
  url.hash = '';
  return url;
}
