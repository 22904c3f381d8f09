import { Agent } from 'node:http';
import { setTimeout as wait } from 'node:timers/promises';
import type { Monitor } from '@tocsin/contracts/monitors/monitor';
import { Random } from '../../plan/random.ts';
import { type ApiCall, type ApiOutcome, callApi } from './api-request.ts';

export interface ApiClientsOptions {
  readonly baseUrl: string;
  readonly apiKey: string;
  readonly seed: number;
  /** Clients that read, change and trigger, each with a connection that it keeps. */
  readonly count: number;
  /** Monitors that are made each second, and deleted some time later. */
  readonly createdPerSecond: number;
  /** That may be read, renamed and triggered. */
  readonly monitorIds: readonly string[];
  readonly targetUrl: string;
}

/** What the clients saw. */
export interface ApiTally {
  answered: number;
  refused: number;
  notTaken: number;
  broken: string[];
  /** Answers with another status than the call should have. */
  unexpected: string[];
}

const MOST_PAUSE_MS = 100;
/** Monitors that were made and are not deleted yet. */
const KEPT = 30;
const RETRY_MS = 20;
/** A server that restarts is back by then. */
const RETRY_WITHIN_MS = 60_000;

/** Clients of the API that work until they are stopped; each call is sent again until a server answers it. */
export class ApiClients {
  readonly tally: ApiTally = {
    answered: 0,
    refused: 0,
    notTaken: 0,
    broken: [],
    unexpected: [],
  };
  readonly #options: ApiClientsOptions;
  readonly #agents: Agent[] = [];
  readonly #stop = new AbortController();
  readonly #running: Promise<void>[];

  constructor(options: ApiClientsOptions) {
    this.#options = options;
    const random = new Random(options.seed, 'calls');
    const clients = Array.from({ length: options.count }, () => this.#work(random));
    this.#running = [...clients, this.#makeAndDelete()];
  }

  /** Resolves when the calls under way are answered. */
  async stop(): Promise<void> {
    this.#stop.abort();
    await Promise.all(this.#running);
    for (const agent of this.#agents) agent.destroy();
  }

  async #work(random: Random): Promise<void> {
    const agent = this.#newAgent();
    while (!this.#stop.signal.aborted) {
      const [call, status] = this.#choose(random);
      await this.#send(agent, call, status);
      await this.#pause(random.next() * MOST_PAUSE_MS);
    }
  }

  #choose(random: Random): [ApiCall, number] {
    const { monitorIds } = this.#options;
    const path = `/api/cli/monitors/${random.pick(monitorIds)}`;
    const dice = random.next();
    if (dice < 0.02) return [{ method: 'GET', path: '/api/cli/monitors' }, 200];
    if (dice < 0.15) return [{ method: 'POST', path: `${path}/trigger` }, 200];
    if (dice < 0.3) {
      return [{ method: 'PUT', path, body: { name: `Renamed ${random.integer(1, 1_000)}` } }, 200];
    }
    if (dice < 0.6) {
      const since = new Date(Date.now() - 10_000).toISOString();
      return [{ method: 'GET', path: `${path}/events?since=${since}` }, 200];
    }
    return [{ method: 'GET', path }, 200];
  }

  async #makeAndDelete(): Promise<void> {
    const agent = this.#newAgent();
    const { createdPerSecond, targetUrl } = this.#options;
    const kept: string[] = [];
    // Each in a wave of its own, as monitors of preview environments are.
    const body = { name: 'Short-lived', url: targetUrl, interval: 3_600, timeout: 2 };
    while (!this.#stop.signal.aborted) {
      const made = await this.#send(agent, { method: 'POST', path: '/api/cli/monitors', body }, 201);
      if (made !== null) kept.push((made as { monitor: Monitor }).monitor.id);
      const oldest = kept.length > KEPT ? kept.shift() : undefined;
      if (oldest !== undefined) {
        await this.#send(agent, { method: 'DELETE', path: `/api/cli/monitors/${oldest}` }, 204);
      }
      await this.#pause(1_000 / createdPerSecond);
    }
  }

  #newAgent(): Agent {
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    this.#agents.push(agent);
    return agent;
  }

  async #pause(ms: number): Promise<void> {
    await wait(ms, undefined, { signal: this.#stop.signal }).catch(() => undefined);
  }

  /** Sends a call until a server takes it. @returns the body of the expected answer, null for none */
  async #send(agent: Agent, call: ApiCall, expected: number): Promise<unknown> {
    const deadline = Date.now() + RETRY_WITHIN_MS;
    for (;;) {
      const outcome = await callApi({ ...this.#options, agent }, call);
      if (this.#isFinal(outcome, call, expected)) {
        return outcome.kind === 'answered' && outcome.status === expected ? outcome.body : null;
      }
      if (Date.now() > deadline) {
        this.tally.broken.push(`${call.method} ${call.path}: no server took it`);
        return null;
      }
      await wait(RETRY_MS);
    }
  }

  #isFinal(outcome: ApiOutcome, { method, path }: ApiCall, expected: number): boolean {
    const { tally } = this;
    switch (outcome.kind) {
      case 'refused':
      case 'notTaken':
        tally[outcome.kind] += 1;
        return false;
      case 'broken':
        tally.broken.push(`${method} ${path}: ${outcome.reason}`);
        return true;
      case 'answered':
        tally.answered += 1;
        if (outcome.status !== expected) {
          tally.unexpected.push(`${method} ${path}: ${outcome.status} ${JSON.stringify(outcome.body)}`);
        }
        return true;
    }
  }
}
