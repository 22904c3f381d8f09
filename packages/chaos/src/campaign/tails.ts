import { setTimeout as wait } from 'node:timers/promises';
import type { Scene } from './scene.ts';

const EVERY_MS = 1_500;
const AT_ONCE = 4;
const PAGE = 500;
const EPOCH = '1970-01-01T00:00:00.000Z';

interface TailedEvent {
  readonly id: string;
  readonly timestamp: string;
}

/** A client that follows each monitor's events with `since`, the timestamp of the last one it has. */
export class Tails {
  readonly #scene: Scene;
  readonly #events = new Map<string, TailedEvent[]>();
  #ended = false;
  #running: Promise<void> | undefined;

  constructor(scene: Scene) {
    this.#scene = scene;
  }

  begin(): void {
    this.#running = this.#run();
  }

  /** Reads the rest. @returns the ids that were received, by monitor, in order */
  async finish(): Promise<Map<string, string[]>> {
    this.#ended = true;
    await this.#running;
    await this.#pollAll();
    return new Map([...this.#events].map(([id, events]) => [id, events.map((event) => event.id)]));
  }

  async #run(): Promise<void> {
    while (!this.#ended) {
      await this.#pollAll();
      await wait(EVERY_MS);
    }
  }

  async #pollAll(): Promise<void> {
    const waiting = this.#scene.registry.monitors.filter(({ deletedAt }) => deletedAt === null);
    const poller = async (): Promise<void> => {
      for (let monitor = waiting.pop(); monitor; monitor = waiting.pop()) await this.#poll(monitor.id);
    };
    await Promise.all(Array.from({ length: AT_ONCE }, poller));
  }

  async #poll(monitorId: string): Promise<void> {
    const got = this.#events.get(monitorId) ?? [];
    this.#events.set(monitorId, got);
    for (;;) {
      const since = encodeURIComponent(got.at(-1)?.timestamp ?? EPOCH);
      const path = `/api/cli/monitors/${monitorId}/events?limit=${PAGE}&since=${since}`;
      const { status, body } = await this.#scene.api.request('GET', path);
      // Deleted meanwhile.
      if (status !== 200) return;
      const { events } = body as { events: TailedEvent[] };
      got.push(...events);
      if (events.length < PAGE) return;
    }
  }
}
