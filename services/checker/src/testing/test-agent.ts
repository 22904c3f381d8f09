import { once } from 'node:events';
import {
  AGENT_PATH,
  AGENT_PROTOCOL,
  type AgentProbe,
  type AgentResult,
  type GatewayMessage,
  parseGatewayMessage,
} from '@tocsin/contracts/agents/protocol';
import { until } from '@tocsin/embedded/testing/until';
import { Prober } from '@tocsin/probe/probe';
import { loopbackEgress } from '@tocsin/probe/testing/local-targets';
import { WebSocket } from 'ws';

export const GATEWAY_VERSION = '1.4.0';

interface TestAgentOptions {
  readonly credits?: number;
  readonly version?: string;
  readonly isResponsive?: boolean;
}

/** Result for a target that refuses connections. */
export const REFUSED: Omit<AgentResult, 'id' | 'ticket'> = {
  status: 'DOWN',
  latencyMs: 0,
  statusCode: null,
  errorReason: 'CONNECTION_REFUSED',
  errorDetail: 'connection refused',
  timings: { dns: null, tcp: null, tls: null, firstByte: null, download: null },
  certificateExpiresAt: null,
  transportFailure: 'connection',
  ownFailure: null,
  response: null,
  ageMs: 0,
};
const PASSED: Omit<AgentResult, 'id' | 'ticket'> = {
  ...REFUSED,
  status: 'UP',
  latencyMs: 12,
  statusCode: 200,
  errorReason: null,
  errorDetail: null,
  transportFailure: null,
};

/** An agent that does only what a test tells it. */
export class TestAgent {
  readonly #socket: WebSocket;
  /** Probes that were received and not canceled. */
  readonly probes: AgentProbe[] = [];
  readonly canceled: string[] = [];
  readonly recorded: string[] = [];
  readonly frames: GatewayMessage[] = [];
  closed: { readonly code: number; readonly reason: string } | null = null;
  #prober: Prober | null = null;

  private constructor(socket: WebSocket) {
    this.#socket = socket;
    socket.on('message', (data: Buffer) => this.#receive(parseGatewayMessage(data.toString())));
    socket.on('close', (code, reason) => (this.closed = { code, reason: reason.toString() }));
    socket.on('error', () => undefined);
  }

  /** Connects without sending a message. @throws Error if the upgrade is refused */
  static async open(port: number, token: string, isResponsive = true): Promise<TestAgent> {
    const headers = { Authorization: `Bearer ${token}` };
    const url = `ws://127.0.0.1:${port}${AGENT_PATH}`;
    const agent = new TestAgent(
      new WebSocket(url, AGENT_PROTOCOL, { headers, autoPong: isResponsive, perMessageDeflate: false }),
    );
    await once(agent.#socket, 'open');
    return agent;
  }

  /** Connects and waits until the gateway accepts or closes the connection. */
  static async connect(port: number, token: string, options: TestAgentOptions = {}): Promise<TestAgent> {
    const { credits = 10, version = GATEWAY_VERSION, isResponsive = true } = options;
    const agent = await TestAgent.open(port, token, isResponsive);
    agent.send({ type: 'hello', version, name: 'test', credits });
    await until('the welcome', () => agent.frames.length > 0 || agent.closed !== null);
    return agent;
  }

  /** Probes targets on this machine from now on, and returns their results. */
  work(): void {
    this.#prober = new Prober({ egress: loopbackEgress() });
    for (const probe of this.probes) void this.#run(this.#prober, probe);
  }

  send(message: object): void {
    this.#socket.send(JSON.stringify(message));
  }

  sendText(text: string): void {
    this.#socket.send(text);
  }

  respond({ id, ticket }: AgentProbe, result: Partial<AgentResult>): void {
    this.send({ type: 'results', results: [{ ...PASSED, id, ticket, ...result }] });
  }

  /** Waits for a number of probes that were not canceled. */
  async received(count: number): Promise<readonly AgentProbe[]> {
    await until(`${count} probes`, () => this.probes.length >= count);
    return this.probes;
  }

  async firstProbe(): Promise<AgentProbe> {
    const [probe] = await this.received(1);
    if (probe === undefined) throw new Error('no probe');
    return probe;
  }

  /** Drops the connection without a closing handshake. */
  async vanish(): Promise<void> {
    this.#socket.terminate();
    await this.untilClosed();
  }

  async untilClosed(): Promise<{ readonly code: number; readonly reason: string }> {
    return until('the connection to be closed', () => this.closed);
  }

  #receive(message: GatewayMessage): void {
    this.frames.push(message);
    if (message.type === 'recorded') this.recorded.push(...message.ids);
    if (message.type === 'cancel') {
      this.canceled.push(...message.ids);
      const kept = this.probes.filter(({ id }) => !message.ids.includes(id));
      this.probes.splice(0, this.probes.length, ...kept);
    }
    if (message.type !== 'probes') return;
    this.probes.push(...message.probes);
    if (this.#prober === null) return;
    for (const probe of message.probes) void this.#run(this.#prober, probe);
  }

  async #run(prober: Prober, probe: AgentProbe): Promise<void> {
    const { account, resource, ...target } = probe;
    const result = await prober.probe({ ...target, owner: { account, resource } });
    const { certificateExpiresAt, response } = result;
    this.respond(probe, {
      ...result,
      certificateExpiresAt: certificateExpiresAt?.getTime() ?? null,
      response: response?.() ?? null,
    });
  }
}
