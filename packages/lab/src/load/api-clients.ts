import { Agent } from 'node:http';
import { setTimeout as wait } from 'node:timers/promises';
import type { Monitor } from '@tocsin/contracts/monitors/monitor';
import { seenBefore } from '@tocsin/embedded/testing/until';
import { callApi, type ApiCall, type ApiTarget } from '../api-client.ts';
import { Random } from '../random.ts';
import { MONITORS_PATH } from './writes.ts';

interface ApiClientsOptions {
  /** Apis to call. Each client uses only one of them. */
  readonly targets: readonly ApiTarget[];
  readonly seed: number;
  /** Monitors that are created each second, and deleted some time later. */
  readonly createdPerSecond: number;
  readonly monitorIds: readonly string[];
  readonly targetUrl: string;
}

const CLIENTS = 4;
const MAX_PAUSE_MS = 100;
/** Number of monitors that exist between creation and deletion. */
const KEPT = 30;
const RETRY_MS = 20;
/** A call may be repeated for this long, because a server may be restarting. */
const RETRY_WITHIN_MS = 60_000;

/** Clients of the API with one connection each. A call is repeated until a server accepts it. */
export class ApiClients {
  readonly tally = { responses: 0, broken: [] as string[], unexpected: [] as string[] };
  readonly #options: ApiClientsOptions;
  readonly #stop = new AbortController();
  readonly #running: readonly Promise<void>[];

  constructor(options: ApiClientsOptions) {
    this.#options = options;
    const random = new Random(options.seed, 'calls');
    const clients = Array.from({ length: CLIENTS }, (_, index) =>
      this.#repeat(index, async (target) => {
        await this.#send(target, this.#choose(random), 200);
        return random.next() * MAX_PAUSE_MS;
      }),
    );
    const kept: string[] = [];
    const creating = this.#repeat(CLIENTS, async (target) => {
      await this.#createAndDelete(target, kept);
      return 1_000 / options.createdPerSecond;
    });
    this.#running = [...clients, creating];
  }

  /** Resolves when the calls in progress have ended. */
  async stop(): Promise<void> {
    this.#stop.abort();
    await Promise.all(this.#running);
  }

  /** @param work returns the pause after it in milliseconds */
  async #repeat(index: number, work: (target: ApiTarget) => Promise<number>): Promise<void> {
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    const { targets } = this.#options;
    const target = targets[index % targets.length];
    if (target === undefined) throw new RangeError('no api');
    const { signal } = this.#stop;
    while (!signal.aborted)
      await wait(await work({ ...target, agent }), undefined, { signal }).catch(() => undefined);
    agent.destroy();
  }

  #choose(random: Random): ApiCall {
    const path = `${MONITORS_PATH}/${random.pick(this.#options.monitorIds)}`;
    const dice = random.next();
    if (dice < 0.02) return { method: 'GET', path: MONITORS_PATH };
    if (dice < 0.15) return { method: 'POST', path: `${path}/trigger` };
    if (dice < 0.3) return { method: 'PUT', path, body: { name: `Renamed ${random.integer(1, 1_000)}` } };
    if (dice >= 0.6) return { method: 'GET', path };
    const since = new Date(Date.now() - 10_000).toISOString();
    return { method: 'GET', path: `${path}/events?since=${since}` };
  }

  async #createAndDelete(target: ApiTarget, kept: string[]): Promise<void> {
    // The long interval gives each monitor its own wave, as with monitors of preview environments.
    const body = { name: 'Short-lived', url: this.#options.targetUrl, interval: 3_600, timeout: 2 };
    const created = await this.#send(target, { method: 'POST', path: MONITORS_PATH, body }, 201);
    if (created !== null) kept.push((created as { monitor: Monitor }).monitor.id);
    const oldest = kept.length > KEPT ? kept.shift() : undefined;
    if (oldest === undefined) return;
    await this.#send(target, { method: 'DELETE', path: `${MONITORS_PATH}/${oldest}` }, 204);
  }

  /** Returns the body of a response with the expected status, otherwise null. */
  async #send(target: ApiTarget, call: ApiCall, expected: number): Promise<unknown> {
    const { tally } = this;
    const name = `${call.method} ${call.path}`;
    const send = async () => {
      const outcome = await callApi(target, call);
      return outcome.kind === 'response' || outcome.kind === 'broken' ? outcome : null;
    };
    const outcome = await seenBefore(Date.now() + RETRY_WITHIN_MS, send, RETRY_MS);
    if (outcome?.kind !== 'response') {
      tally.broken.push(`${name}: ${outcome?.reason ?? 'no server accepted it'}`);
      return null;
    }
    tally.responses += 1;
    if (outcome.status === expected) return outcome.body;
    tally.unexpected.push(`${name}: ${outcome.status} ${JSON.stringify(outcome.body)}`);
    return null;
  }
}
