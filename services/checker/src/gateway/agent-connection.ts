import { randomUUID } from 'node:crypto';
import {
  AGENT_CLOSE,
  type AgentMessage,
  type AgentProbe,
  type AgentResult,
  type GatewayMessage,
  MAX_MESSAGES_PER_FRAME,
  parseAgentMessage,
} from '@tocsin/contracts/agents/protocol';
import { sanitiseDetail } from '@tocsin/core/checks/error-reason';
import type { AgentTokenIdentity } from '@tocsin/db/agents/agent-tokens';
import { FairShares } from '@tocsin/runtime/fair-shares';
import type { WebSocket } from 'ws';
import { isServedAgent, oldestAgentVersion } from './agent-version.ts';

/** A connection is lost if nothing arrived in this many consecutive checks. */
const MAX_SILENT_CHECKS = 5;
/** Time after the timeout of a probe until its result must arrive. The agent may first have to prove its own connection. */
export const RESPONSE_GRACE_MS = 15_000;
/** An agent with this much unread data cannot keep up. */
const MAX_UNREAD_BYTES = 64 * 1024 * 1024;
/** Maximum late results of a connection that are recorded concurrently. */
const MAX_LATE_RESULTS = 100;
/** Late results wait while PostgreSQL is unavailable. Agents send at most 500, which are far smaller. */
const MAX_LATE_BYTES = 32 * 1024 * 1024;
/** Frames stay far below `MAX_GATEWAY_FRAME_BYTES`, even if each character takes three bytes. */
const MAX_FRAME_CHARACTERS = 1_000_000;
const CLOSE_WITHIN_MS = 1_000;
const MAX_REASON_CHARACTERS = 100;

/** A probe that an agent runs. */
export interface RemoteProbe {
  /** Deadline for the result, by `performance.now()`. */
  readonly dueAt: number;
  /** @param result null if the agent is gone */
  readonly settle: (result: AgentResult | null) => void;
  /** Ends the probe without a result, because the agent lacks capacity for it. */
  readonly throttle: () => void;
}

export interface AgentListener {
  /** Called when the agent has introduced itself. */
  onReady(agent: AgentConnection): void;
  onCredits(agent: AgentConnection): void;
  /** Called with each result of a probe that this connection does not know. Never rejects. */
  onLateResult(agent: AgentConnection, result: AgentResult): Promise<void>;
  /** Called with the time between a ping and its pong. */
  onRoundTrip(ms: number): void;
  /** Called once, before the probes of the connection settle. */
  onClosed(agent: AgentConnection): void;
}

/** The connection of one agent, from the upgrade on. */
export class AgentConnection {
  readonly id: string = randomUUID();
  readonly connectedSince = new Date();
  readonly token: AgentTokenIdentity;
  readonly #socket: WebSocket;
  readonly #gatewayVersion: string;
  readonly #listener: AgentListener;
  readonly #probes = new Map<string, RemoteProbe>();
  #agent: { readonly name: string; readonly version: string } | null = null;
  #credits = 0;
  #isClosed = false;
  #isHeard = true;
  #silentChecks = 0;
  #pingedAt: number | null = null;
  readonly #late = new FairShares(MAX_LATE_RESULTS, { maxWaiting: Infinity });
  #lateBytes = 0;
  #outgoing: { cancel: string[]; probes: string[]; recorded: string[] } | null = null;

  constructor(socket: WebSocket, token: AgentTokenIdentity, gatewayVersion: string, listener: AgentListener) {
    this.#socket = socket;
    this.token = token;
    this.#gatewayVersion = gatewayVersion;
    this.#listener = listener;
    socket.on('message', (data, isBinary) => {
      this.#receive(isBinary || !Buffer.isBuffer(data) ? '' : data.toString());
    });
    socket.on('ping', () => (this.#isHeard = true));
    socket.on('pong', () => this.#notePong());
    // An oversized or malformed frame is also an error.
    socket.on('error', () => this.#end());
    socket.on('close', () => this.#end());
  }

  get region(): string {
    return this.token.region;
  }

  /** Null until the agent has introduced itself. */
  get agent(): { readonly name: string; readonly version: string } | null {
    return this.#agent;
  }

  get isClosed(): boolean {
    return this.#isClosed;
  }

  /** True if the agent has sent nothing for one to two seconds. */
  get isSilent(): boolean {
    return this.#silentChecks > 0;
  }

  /** Maximum concurrent probes. */
  get credits(): number {
    return this.#credits;
  }

  get inFlight(): number {
    return this.#probes.size;
  }

  run(probe: AgentProbe, remote: RemoteProbe): void {
    this.#probes.set(probe.id, remote);
    this.#queue('probes', JSON.stringify(probe));
  }

  /** Ends a probe whose result is not needed, without calling `settle`. */
  cancel(id: string): void {
    if (this.#probes.delete(id)) this.#queue('cancel', JSON.stringify(id));
  }

  /** Tells the agent that it can forget a result. */
  confirm(id: string): void {
    this.#queue('recorded', JSON.stringify(id));
  }

  /** Settles all probes without results. Results that the agent still returns are late results. */
  abandonProbes(): void {
    const probes = [...this.#probes.values()];
    this.#probes.clear();
    for (const { settle } of probes) settle(null);
  }

  /** @param code one of `AGENT_CLOSE` */
  close(code: number, reason: string): void {
    if (this.#isClosed) return;
    this.#flush();
    // The reason may quote the agent, and `close` throws if it is longer than 123 bytes.
    this.#socket.close(code, reason.replaceAll(/[^ -~]/g, '?').slice(0, MAX_REASON_CHARACTERS));
    this.#end();
  }

  /** Call every second. Ends the connection if the agent is silent, reads too slowly, or has an overdue result. */
  checkAlive(): void {
    // An agent that never introduces itself is as useless as a silent one.
    this.#silentChecks = this.#isHeard && this.#agent !== null ? 0 : this.#silentChecks + 1;
    this.#isHeard = false;
    const now = performance.now();
    const isOverdue = [...this.#probes.values()].some(({ dueAt }) => dueAt < now);
    const isSilent = this.#silentChecks >= MAX_SILENT_CHECKS;
    if (isSilent || isOverdue || this.#socket.bufferedAmount > MAX_UNREAD_BYTES) {
      this.#socket.terminate();
      this.#end();
    } else if (this.#pingedAt === null) {
      this.#pingedAt = now;
      this.#socket.ping();
    }
  }

  #notePong(): void {
    this.#isHeard = true;
    if (this.#pingedAt !== null) this.#listener.onRoundTrip(performance.now() - this.#pingedAt);
    this.#pingedAt = null;
  }

  #receive(text: string): void {
    if (this.#isClosed) return;
    this.#isHeard = true;
    try {
      this.#handle(parseAgentMessage(text), text.length);
    } catch (error) {
      this.close(AGENT_CLOSE.protocolError, error instanceof Error ? error.message : 'invalid message');
    }
  }

  #handle(message: AgentMessage, size: number): void {
    if ((message.type === 'hello') === (this.#agent !== null))
      throw new Error('hello must be the first message');
    switch (message.type) {
      case 'hello':
        return this.#welcome(message);
      case 'credits':
        this.#credits = message.credits;
        return this.#listener.onCredits(this);
      case 'results':
        return this.#takeResults(message.results, size);
      case 'dropped':
        for (const id of message.ids) this.#probes.get(id)?.throttle();
    }
  }

  #welcome({ name, version, credits }: Extract<AgentMessage, { type: 'hello' }>): void {
    if (!isServedAgent(version, this.#gatewayVersion)) {
      const oldest = oldestAgentVersion(this.#gatewayVersion);
      return this.close(AGENT_CLOSE.upgradeRequired, `the oldest supported version is ${oldest}`);
    }
    // PostgreSQL refuses some characters.
    this.#agent = { name: sanitiseDetail(name) || 'agent', version };
    this.#credits = credits;
    const welcome: GatewayMessage = { type: 'welcome', version: this.#gatewayVersion, region: this.region };
    this.#socket.send(JSON.stringify(welcome));
    this.#listener.onReady(this);
  }

  #takeResults(results: readonly AgentResult[], size: number): void {
    const late = results.filter((result) => !this.#settle(result.id, result) && result.ticket !== null);
    if (late.length === 0) return;
    this.#lateBytes += size;
    if (this.#lateBytes > MAX_LATE_BYTES) throw new Error('too many late results');
    const handling = Promise.all(late.map((result) => this.#handleLate(result)));
    void handling.finally(() => (this.#lateBytes -= size));
  }

  async #handleLate(result: AgentResult): Promise<void> {
    const release = await this.#late.acquire(this.id);
    await this.#listener.onLateResult(this, result).finally(release);
  }

  /** @returns false if the connection does not know the probe */
  #settle(id: string, result: AgentResult): boolean {
    const probe = this.#probes.get(id);
    this.#probes.delete(id);
    probe?.settle(result);
    return probe !== undefined;
  }

  #end(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    setTimeout(() => this.#socket.terminate(), CLOSE_WITHIN_MS).unref();
    this.#listener.onClosed(this);
    this.abandonProbes();
  }

  /** Queues a JSON text, which is sent together with the others of this turn of the event loop. */
  #queue(type: 'cancel' | 'probes' | 'recorded', json: string): void {
    if (this.#isClosed) return;
    if (this.#outgoing === null) {
      this.#outgoing = { cancel: [], probes: [], recorded: [] };
      setImmediate(() => this.#flush());
    }
    this.#outgoing[type].push(json);
  }

  #flush(): void {
    const outgoing = this.#outgoing;
    this.#outgoing = null;
    if (outgoing === null || this.#isClosed) return;
    // Cancellations come first, because they free capacity for probes.
    for (const type of ['cancel', 'probes', 'recorded'] as const) {
      const key = type === 'probes' ? 'probes' : 'ids';
      for (const frame of framesOf(outgoing[type]))
        this.#socket.send(`{"type":"${type}","${key}":[${frame.join()}]}`);
    }
  }
}

function framesOf(items: readonly string[]): string[][] {
  const frames: string[][] = [];
  let characters = Infinity;
  for (const item of items) {
    characters += item.length;
    const last = frames.at(-1);
    if (last === undefined || characters > MAX_FRAME_CHARACTERS || last.length >= MAX_MESSAGES_PER_FRAME) {
      frames.push([item]);
      characters = item.length;
    } else last.push(item);
  }
  return frames;
}
