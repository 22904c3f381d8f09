import { AGENT_CLOSE } from '@tocsin/contracts/agents/protocol';
import type { AgentConnection as StoredConnection } from '@tocsin/db/agents/agent-connections';
import type { AgentTokenIdentity } from '@tocsin/db/agents/agent-tokens';
import { createLoop, type Loop } from '@tocsin/runtime/loop';
import { type Metrics, registerReadGauge } from '@tocsin/runtime/metrics';
import { withTimeout } from '@tocsin/runtime/timeout';
import { Counter, Histogram } from 'prom-client';
import { AgentConnection, type AgentListener } from './agent-connection.ts';
import { AgentRegion, type AgentRegionOptions } from './agent-region.ts';
import { type AgentServer, type AgentServerOptions, startAgentServer } from './agent-server.ts';

const CHECK_EVERY_MS = 1_000;
const RENEW_EVERY_MS = 1_000;
const MAX_AGENTS = 10_000;
/** Leaves room for others. Shared regions, which belong to the operators, have no such limit. */
const MAX_AGENTS_PER_ACCOUNT = 1_000;
/** At shutdown, agents stay connected this long for running checks. Afterwards, they bring the results to another gateway. */
const CLOSE_AGENTS_AFTER_MS = 5_000;

export interface GatewayOptions
  extends AgentRegionOptions, Pick<AgentServerOptions, 'port' | 'host' | 'findToken'> {
  /** Version of this gateway. */
  readonly version: string;
  /** Writes the connections of this gateway, and returns the ids of those whose token is valid. */
  readonly renewConnections: (connections: readonly StoredConnection[]) => Promise<ReadonlySet<string>>;
  readonly registry: Metrics;
  /** Interval of liveness checks. Defaults to one second, which the limits assume. */
  readonly checkEveryMs?: number;
}

/** Accepts connections of agents, and runs the checks of their regions through them. */
export class Gateway {
  readonly #options: GatewayOptions;
  readonly #agents = new Set<AgentConnection>();
  /** Regions with connected agents. */
  readonly #regions = new Map<string, AgentRegion>();
  /** Regions whose last agent has disconnected. The promise resolves when their workers are closed. */
  readonly #closing = new Map<string, Promise<void>>();
  readonly #listener: AgentListener;
  readonly #roundTrips: Histogram;
  readonly #resent: Counter<'region'>;
  readonly #renewing: Loop;
  readonly #timer: NodeJS.Timeout;
  #server: AgentServer | null = null;
  #isHalted = false;
  #isStopping = false;
  #isStored = false;

  private constructor(options: GatewayOptions) {
    this.#options = options;
    const { registry, logger, checkEveryMs = CHECK_EVERY_MS } = options;
    this.#roundTrips = createRoundTrips(registry);
    this.#resent = createResent(registry);
    this.#registerGauges();
    this.#listener = {
      onReady: (agent) => this.#add(agent),
      onCredits: (agent) => this.#regions.get(agent.region)?.noteCredits(),
      onLateResult: async (agent, result) => {
        this.#resent.inc({ region: agent.region });
        await this.#regions.get(agent.region)?.recordLate(agent, result);
      },
      onRoundTrip: (ms) => this.#roundTrips.observe(ms / 1_000),
      onClosed: (agent) => this.#remove(agent),
    };
    this.#timer = setInterval(() => {
      for (const agent of this.#agents) agent.checkAlive();
    }, checkEveryMs);
    this.#renewing = createLoop({
      name: 'Writing the connections of agents',
      everyMs: RENEW_EVERY_MS,
      work: () => this.#renew(),
      logger,
    });
  }

  /** @throws SettingsError if it cannot listen */
  static async start(options: GatewayOptions): Promise<Gateway> {
    const gateway = new Gateway(options);
    gateway.#server = await startAgentServer({
      ...options,
      refuse: (token) => gateway.#refusalOf(token),
      onConnection: (socket, token) => {
        const agent = new AgentConnection(socket, token, options.version, gateway.#listener);
        gateway.#agents.add(agent);
      },
    });
    return gateway;
  }

  get port(): number {
    return this.#server?.port ?? 0;
  }

  /** Stops or resumes scheduled checks. */
  halt(isHalted: boolean): void {
    this.#isHalted = isHalted;
    for (const region of this.#regions.values()) region.halt(isHalted);
  }

  /** @throws Error if jobs of a region wait and its workers make no progress */
  async checkProgress(): Promise<void> {
    await Promise.all([...this.#regions.values()].map((region) => region.checkProgress()));
  }

  /** @throws Error if it does not accept connections */
  async checkListening(): Promise<void> {
    if (this.#isStopping || this.#server?.isListening !== true)
      throw new Error('the gateway is not listening');
  }

  /** Waits briefly for running checks. Their agents can deliver later results to another gateway. */
  async stop(): Promise<void> {
    this.#isStopping = true;
    this.#server?.close();
    const regions = [...this.#regions.values()];
    const closing = Promise.all(regions.map((region) => region.close()));
    await withTimeout(closing, CLOSE_AGENTS_AFTER_MS, null);
    for (const agent of this.#agents) agent.close(AGENT_CLOSE.restarting, 'the gateway is shutting down');
    await Promise.all([closing, ...this.#closing.values()]);
    clearInterval(this.#timer);
    await this.#renewing.stop();
    await this.#renew().catch(() => undefined);
  }

  #refusalOf({ accountId }: AgentTokenIdentity): string | null {
    if (this.#isStopping) return 'The gateway shuts down. Connect again.';
    let ofAccount = 0;
    for (const { token } of this.#agents) if (token.accountId === accountId) ofAccount += 1;
    const isAllowed = accountId === null || ofAccount < MAX_AGENTS_PER_ACCOUNT;
    if (this.#agents.size < MAX_AGENTS && isAllowed) return null;
    return 'Too many agents are connected.';
  }

  #add(agent: AgentConnection): void {
    if (this.#isStopping) return agent.close(AGENT_CLOSE.restarting, 'the gateway is shutting down');
    const { region } = agent;
    const existing = this.#regions.get(region);
    const before = this.#closing.get(region) ?? Promise.resolve();
    const entry = existing ?? new AgentRegion(agent.token, this.#options, this.#isHalted, before);
    this.#regions.set(region, entry);
    entry.add(agent);
    this.#renewing.wake();
    this.#options.logger.info('Agent connected', { region, ...agent.agent });
  }

  #remove(agent: AgentConnection): void {
    this.#agents.delete(agent);
    const { region } = agent;
    const entry = this.#regions.get(region);
    if (agent.agent === null || entry === undefined) return;
    this.#options.logger.info('Agent disconnected', { region, ...agent.agent });
    if (entry.remove(agent)) return;
    entry.abort();
    this.#regions.delete(region);
    this.#closing.set(region, entry.close());
  }

  /** Writes the connections, and closes those whose token is no longer valid. */
  async #renew(): Promise<void> {
    const agents = [...this.#agents].filter(({ agent }) => agent !== null);
    const connections = agents.flatMap((connection) => {
      const { id, token, region, agent, connectedSince, inFlight } = connection;
      return agent === null ? [] : [{ id, tokenId: token.id, region, ...agent, connectedSince, inFlight }];
    });
    if (connections.length === 0 && !this.#isStored) return;
    const valid = await this.#options.renewConnections(connections);
    this.#isStored = connections.length > 0;
    for (const agent of agents) {
      if (!valid.has(agent.id))
        agent.close(AGENT_CLOSE.tokenRevoked, 'the agent token was deleted or has expired');
    }
  }

  #registerGauges(): void {
    const gauge = (name: string, help: string, valueOf: (region?: AgentRegion) => number): void => {
      const codes = () => new Set([...this.#regions.keys(), ...this.#closing.keys()]);
      registerReadGauge(this.#options.registry, {
        name,
        help,
        labelNames: ['region'],
        samples: async () =>
          [...codes()].map((region) => ({ labels: { region }, value: valueOf(this.#regions.get(region)) })),
      });
    };
    gauge(
      'tocsin_agents_connected',
      'Agents connected to this gateway, for each region that has had one since the gateway started.',
      (region) => region?.prober.agents ?? 0,
    );
    gauge(
      'tocsin_agent_probes_in_flight',
      'Running probes that this gateway sent to agents.',
      (region) => region?.prober.inFlight ?? 0,
    );
  }
}

function createRoundTrips(registry: Metrics): Histogram {
  return new Histogram({
    name: 'tocsin_agent_round_trip_seconds',
    help: 'Time between a ping to an agent and its response.',
    buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.15, 0.2, 0.3, 0.5, 1, 2.5, 5],
    registers: [registry],
  });
}

function createResent(registry: Metrics): Counter<'region'> {
  return new Counter({
    name: 'tocsin_agent_results_resent_total',
    help: 'Results that agents sent again after a reconnection, or after the gateway had abandoned the probe.',
    labelNames: ['region'],
    registers: [registry],
  });
}
