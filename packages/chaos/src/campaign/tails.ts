import { setTimeout as wait } from 'node:timers/promises';
import type { Scene } from './scene.ts';

const EVERY_MS = 1_500;
const CONCURRENCY = 4;
const PAGE = 500;
const EPOCH = '1970-01-01T00:00:00.000Z';

interface TailedEvent {
  readonly id: string;
  readonly timestamp: string;
}

/**
 * Follows each monitor's events with `since`, the timestamp of the last one that was received.
 * @returns a function that reads the rest, and returns the received ids by monitor, in order
 */
export function followEvents({ api, registry }: Scene): () => Promise<Map<string, string[]>> {
  const received = new Map<string, TailedEvent[]>();
  const end = new AbortController();
  const poll = async (monitorId: string): Promise<void> => {
    const known = received.get(monitorId) ?? [];
    received.set(monitorId, known);
    for (;;) {
      const since = encodeURIComponent(known.at(-1)?.timestamp ?? EPOCH);
      const path = `/api/cli/monitors/${monitorId}/events?limit=${PAGE}&since=${since}`;
      const { status, body } = await api.request('GET', path);
      // Deleted meanwhile.
      if (status !== 200) return;
      const { events } = body as { events: TailedEvent[] };
      known.push(...events);
      if (events.length < PAGE) return;
    }
  };
  const pollAll = async (): Promise<void> => {
    const waiting = registry.monitors.filter(({ deletedAt }) => deletedAt === null);
    const poller = async (): Promise<void> => {
      for (let monitor = waiting.pop(); monitor; monitor = waiting.pop()) await poll(monitor.id);
    };
    await Promise.all(Array.from({ length: CONCURRENCY }, poller));
  };
  const follow = async (): Promise<void> => {
    while (!end.signal.aborted) {
      await pollAll();
      await wait(EVERY_MS);
    }
  };
  const following = follow();
  return async () => {
    end.abort();
    await following;
    await pollAll();
    return new Map([...received].map(([id, events]) => [id, events.map((event) => event.id)]));
  };
}
