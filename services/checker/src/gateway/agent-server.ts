import { createServer, type IncomingMessage, type Server } from 'node:http';
import type { Duplex } from 'node:stream';
import { AGENT_PATH, AGENT_PROTOCOL, MAX_AGENT_FRAME_BYTES } from '@tocsin/contracts/agents/protocol';
import { AGENT_TOKEN_PATTERN } from '@tocsin/contracts/limits';
import { hashToken } from '@tocsin/core/secrets/tokens';
import type { AgentTokenIdentity } from '@tocsin/db/agents/agent-tokens';
import { FairShares } from '@tocsin/runtime/fair-shares';
import { listen } from '@tocsin/runtime/listen';
import type { Logger } from '@tocsin/runtime/logger';
import { type WebSocket, WebSocketServer } from 'ws';

/** Time limit for receiving a request, and for waiting to look up its token. */
const REQUEST_WITHIN_MS = 5_000;
/** Maximum connections that are not authenticated. Beyond this, the oldest one is closed. */
const MAX_STRANGERS = 1_000;
/** Maximum concurrent token lookups, which client addresses share evenly. */
const MAX_LOOKUPS = 4;

export interface AgentServerOptions {
  readonly port: number;
  /** Defaults to all addresses. */
  readonly host?: string | undefined;
  /** Resolves to null if the token was deleted or has expired. */
  readonly findToken: (hash: string) => Promise<AgentTokenIdentity | null>;
  /** Returns why the gateway cannot accept an agent of this region now, or null. */
  readonly refuse: (token: AgentTokenIdentity) => string | null;
  readonly onConnection: (socket: WebSocket, token: AgentTokenIdentity) => void;
  readonly logger: Logger;
}

export interface AgentServer {
  readonly port: number;
  readonly isListening: boolean;
  /** Stops accepting connections. Connected agents stay connected. */
  close(): void;
}

interface Refusal {
  readonly status: string;
  readonly reason: string;
}

/** Accepts WebSocket connections of agents with a valid token, and refuses all other requests. @throws SettingsError if it cannot listen */
export async function startAgentServer(options: AgentServerOptions): Promise<AgentServer> {
  const server = createServer(
    { headersTimeout: REQUEST_WITHIN_MS, requestTimeout: REQUEST_WITHIN_MS },
    (_request, response) => {
      response.writeHead(426, { 'Content-Type': 'text/plain; charset=utf-8', Connection: 'close' });
      response.end('This address serves Tocsin agents only.\n');
    },
  );
  const forget = limitStrangers(server);
  const sockets = new WebSocketServer({
    noServer: true,
    clientTracking: false,
    maxPayload: MAX_AGENT_FRAME_BYTES,
    handleProtocols: () => AGENT_PROTOCOL,
  });
  const lookups = new FairShares(MAX_LOOKUPS, { maxWaiting: MAX_STRANGERS });
  const upgrade = async (request: IncomingMessage, socket: Duplex, head: Buffer): Promise<void> => {
    const result = await authenticate(request, options, lookups);
    if (socket.destroyed) return;
    if ('reason' in result) return refuse(socket, result);
    forget(socket);
    sockets.handleUpgrade(request, socket, head, (webSocket) => options.onConnection(webSocket, result));
  };
  server.on('upgrade', (request, socket, head) => {
    socket.on('error', () => socket.destroy());
    void upgrade(request, socket, head);
  });
  const port = await listen(
    server,
    { port: options.port, host: options.host },
    { port: 'AGENT_PORT', host: 'HOST' },
  );
  return {
    port,
    get isListening() {
      return server.listening;
    },
    close: () => {
      server.close();
      server.closeAllConnections();
    },
  };
}

/** Limits the number and age of connections that wait for their upgrade. @returns a function to call with each upgraded socket */
function limitStrangers(server: Server): (socket: Duplex) => void {
  const strangers = new Map<Duplex, NodeJS.Timeout>();
  const forget = (socket: Duplex): void => {
    clearTimeout(strangers.get(socket));
    strangers.delete(socket);
  };
  server.on('connection', (socket) => {
    socket.on('close', () => forget(socket));
    strangers.set(
      socket,
      setTimeout(() => socket.destroy(), REQUEST_WITHIN_MS),
    );
    const [oldest] = strangers.keys();
    if (strangers.size <= MAX_STRANGERS || oldest === undefined) return;
    forget(oldest);
    oldest.destroy();
  });
  return forget;
}

async function authenticate(
  { url = '', headers, socket }: IncomingMessage,
  { findToken, refuse, logger }: AgentServerOptions,
  lookups: FairShares,
): Promise<AgentTokenIdentity | Refusal> {
  if (url.split('?', 1)[0] !== AGENT_PATH)
    return { status: '404 Not Found', reason: `Agents connect to ${AGENT_PATH}.` };
  const protocols = (headers['sec-websocket-protocol'] ?? '').split(',').map((name) => name.trim());
  if (!protocols.includes(AGENT_PROTOCOL))
    return { status: '400 Bad Request', reason: `The subprotocol must be ${AGENT_PROTOCOL}.` };
  const token = /^Bearer +(\S+)$/i.exec(headers.authorization ?? '')?.[1] ?? '';
  const unauthorized = {
    status: '401 Unauthorized',
    reason: 'The agent token is missing, deleted or expired. Create one on the Regions page.',
  };
  if (!AGENT_TOKEN_PATTERN.test(token)) return unauthorized;
  const unavailable = { status: '503 Service Unavailable', reason: 'Try again later.' };
  const release = await lookups.acquire(socket.remoteAddress ?? '', { withinMs: REQUEST_WITHIN_MS });
  if (release === null) return unavailable;
  try {
    const identity = await findToken(hashToken(token));
    if (identity === null) return unauthorized;
    const reason = refuse(identity);
    return reason === null ? identity : { ...unavailable, reason };
  } catch (error) {
    logger.warn('Could not read an agent token', { error });
    return unavailable;
  } finally {
    release();
  }
}

function refuse(socket: Duplex, { status, reason }: Refusal): void {
  const body = `${reason}\n`;
  socket.end(
    `HTTP/1.1 ${status}\r\nConnection: close\r\nContent-Type: text/plain; charset=utf-8\r\n` +
      `Content-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
  );
}
