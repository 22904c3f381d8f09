import { Agent } from 'node:http';
import { setTimeout as wait } from 'node:timers/promises';
import type { Monitor } from '@tocsin/contracts/monitors/monitor';
import { bearer, callApi, type ApiCall } from '@tocsin/lab/api-client';
import { Random } from '@tocsin/lab/random';

export interface ApiClientsOptions {
  readonly baseUrl: string;
  readonly apiKey: string;
  readonly seed: number;
  /** Clients that read, change and trigger monitors, with one connection each. */
  readonly count: number;
  /** Monitors that are created each second, and deleted some time later. */
  readonly createdPerSecond: number;
  /** That may be read, renamed and triggered. */
  readonly monitorIds: readonly string[];
  readonly targetUrl: string;
}

/** What the clients met. */
export interface ApiTally {
  responses: number;
  refused: number;
  notAccepted: number;
  broken: string[];
  /** Responses with an unexpected status. */
  unexpected: string[];
}

const MAX_PAUSE_MS = 100;
/** Monitors that were created and not yet deleted. */
const KEPT = 30;
const RETRY_MS = 20;
/** A server that restarts is back by then. */
const RETRY_WITHIN_MS = 60_000;
const MONITORS = '/api/cli/monitors';

/** Clients of the API that work until they are stopped. Each call is repeated until a server accepts it. */
export class ApiClients {
  readonly tally: ApiTally = { responses: 0, refused: 0, notAccepted: 0, broken: [], unexpected: [] };
  readonly #options: ApiClientsOptions;
  readonly #agents: Agent[] = [];
  readonly #stop = new AbortController();
  readonly #running: Promise<void>[];

  constructor(options: ApiClientsOptions) {
    this.#options = options;
    const random = new Random(options.seed, 'calls');
    const clients = Array.from({ length: options.count }, () => this.#work(random));
    this.#running = [...clients, this.#createAndDelete()];
  }

  /** Resolves when the calls under way have ended. */
  async stop(): Promise<void> {
    this.#stop.abort();
    await Promise.all(this.#running);
    for (const agent of this.#agents) agent.destroy();
  }

  async #work(random: Random): Promise<void> {
    const agent = this.#createAgent();
    while (!this.#stop.signal.aborted) {
      await this.#send(agent, this.#choose(random), 200);
      await this.#pause(random.next() * MAX_PAUSE_MS);
    }
  }

  #choose(random: Random): ApiCall {
    const path = `${MONITORS}/${random.pick(this.#options.monitorIds)}`;
    const dice = random.next();
    if (dice < 0.02) return { method: 'GET', path: MONITORS };
    if (dice < 0.15) return { method: 'POST', path: `${path}/trigger` };
    if (dice < 0.3) return { method: 'PUT', path, body: { name: `Renamed ${random.integer(1, 1_000)}` } };
    if (dice < 0.6) {
      const since = new Date(Date.now() - 10_000).toISOString();
      return { method: 'GET', path: `${path}/events?since=${since}` };
    }
    return { method: 'GET', path };
  }

  async #createAndDelete(): Promise<void> {
    const agent = this.#createAgent();
    const { createdPerSecond, targetUrl } = this.#options;
    const kept: string[] = [];
    // Each in a wave of its own, like monitors of preview environments.
    const body = { name: 'Short-lived', url: targetUrl, interval: 3_600, timeout: 2 };
    while (!this.#stop.signal.aborted) {
      const created = await this.#send(agent, { method: 'POST', path: MONITORS, body }, 201);
      if (created !== null) kept.push((created as { monitor: Monitor }).monitor.id);
      const oldest = kept.length > KEPT ? kept.shift() : undefined;
      if (oldest !== undefined) {
        await this.#send(agent, { method: 'DELETE', path: `${MONITORS}/${oldest}` }, 204);
      }
      await this.#pause(1_000 / createdPerSecond);
    }
  }

  #createAgent(): Agent {
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    this.#agents.push(agent);
    return agent;
  }

  async #pause(ms: number): Promise<void> {
    await wait(ms, undefined, { signal: this.#stop.signal }).catch(() => undefined);
  }

  /** @returns the body of a response with the expected status, otherwise null */
  async #send(agent: Agent, call: ApiCall, expected: number): Promise<unknown> {
    const { baseUrl, apiKey } = this.#options;
    const { tally } = this;
    const name = `${call.method} ${call.path}`;
    const deadline = Date.now() + RETRY_WITHIN_MS;
    for (;;) {
      const outcome = await callApi({ baseUrl, headers: bearer(apiKey), agent }, call);
      if (outcome.kind === 'response') {
        tally.responses += 1;
        if (outcome.status === expected) return outcome.body;
        tally.unexpected.push(`${name}: ${outcome.status} ${JSON.stringify(outcome.body)}`);
        return null;
      }
      if (outcome.kind === 'broken') {
        tally.broken.push(`${name}: ${outcome.reason}`);
        return null;
      }
      tally[outcome.kind] += 1;
      if (Date.now() > deadline) {
        tally.broken.push(`${name}: no server accepted it`);
        return null;
      }
      await wait(RETRY_MS);
    }
  }
}
