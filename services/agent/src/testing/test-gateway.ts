import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import {
  type AgentMessage,
  type AgentProbe,
  type AgentResult,
  type GatewayMessage,
  parseAgentMessage,
} from '@tocsin/contracts/agents/protocol';
import { NO_TIMEOUT_MS } from '@tocsin/probe/testing/local-targets';
import { until } from '@tocsin/runtime/testing/until';
import { type WebSocket, WebSocketServer } from 'ws';

/** One connection of an agent to a test gateway, with all messages that arrived. */
export class AgentConnection {
  readonly messages: AgentMessage[] = [];
  readonly socket: WebSocket;
  readonly request: IncomingMessage;
  /** Confirms all results. */
  isConfirming = false;
  isResponsive = true;
  pings = 0;
  /** Set when the connection is closed. */
  closeCode: number | null = null;

  constructor(socket: WebSocket, request: IncomingMessage) {
    this.socket = socket;
    this.request = request;
    socket.on('message', (data: Buffer) => {
      this.messages.push(parseAgentMessage(data.toString()));
      if (this.isConfirming) this.confirmAll();
    });
    socket.on('ping', (data) => {
      this.pings += 1;
      if (this.isResponsive) socket.pong(data);
    });
    socket.on('close', (code) => (this.closeCode = code));
    socket.on('error', () => undefined);
  }

  get results(): AgentResult[] {
    return this.messages.flatMap((message) => (message.type === 'results' ? message.results : []));
  }

  get dropped(): string[] {
    return this.messages.flatMap((message) => (message.type === 'dropped' ? message.ids : []));
  }

  /** Most recent value from the agent. */
  get credits(): number | null {
    const credits = this.messages.flatMap((message) => ('credits' in message ? [message.credits] : []));
    return credits.at(-1) ?? null;
  }

  send(message: GatewayMessage): void {
    this.socket.send(JSON.stringify(message));
  }

  probe(id: string, url: string, changes: Partial<AgentProbe> = {}): void {
    const request = { method: 'GET', headers: null, body: null, assertions: null } as const;
    const owner = { account: 'test', resource: id, timeoutMs: NO_TIMEOUT_MS };
    this.send({
      type: 'probes',
      probes: [{ id, ticket: `ticket of ${id}`, url, ...request, ...owner, ...changes }],
    });
  }

  result(id: string): Promise<AgentResult> {
    return until(`the result of ${id}`, () => this.results.find((result) => result.id === id));
  }

  confirmAll(): void {
    this.send({ type: 'recorded', ids: this.results.map(({ id }) => id) });
  }

  closed(): Promise<number> {
    return until('the connection is closed', () => this.closeCode);
  }
}

/** A local gateway that does what a test says. */
export class TestGateway {
  readonly #server: Server;
  readonly #sockets = new WebSocketServer({ noServer: true, autoPong: false });
  readonly #connections: AgentConnection[] = [];
  /** Status of responses to new connections, which are then refused. */
  refusal: number | null = null;
  refused = 0;
  #isEnding = false;

  private constructor(server: Server) {
    this.#server = server;
    server.on('upgrade', (request, socket, head) => {
      if (this.refusal !== null) {
        this.refused += 1;
        socket.end(`HTTP/1.1 ${this.refusal} Refused\r\nConnection: close\r\nContent-Length: 0\r\n\r\n`);
        return;
      }
      this.#sockets.handleUpgrade(request, socket, head, (accepted) => {
        const connection = new AgentConnection(accepted, request);
        connection.isConfirming = this.#isEnding;
        this.#connections.push(connection);
        connection.send({ type: 'welcome', version: '0.1.0', region: 'branch' });
      });
    });
  }

  static async start(): Promise<TestGateway> {
    const server = createServer();
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    return new TestGateway(server);
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  /** Resolves to the nth connection, counted from 0, once its first message has arrived. */
  connection(index: number): Promise<AgentConnection> {
    return until(`connection ${index}`, () => {
      const connection = this.#connections[index];
      return connection !== undefined && connection.messages.length > 0 && connection;
    });
  }

  get connections(): number {
    return this.#connections.length;
  }

  /** Confirms all results from now on, so that agents can stop. */
  end(): void {
    this.#isEnding = true;
    this.refusal = null;
    for (const connection of this.#connections) {
      connection.isConfirming = true;
      connection.confirmAll();
    }
  }

  async stop(): Promise<void> {
    for (const { socket } of this.#connections) socket.terminate();
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }
}
