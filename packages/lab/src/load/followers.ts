import { setTimeout as wait } from 'node:timers/promises';
import { parseMetrics } from '@tocsin/embedded/testing/metrics-text';
import { seenBefore } from '@tocsin/embedded/testing/until';
import type { Replica } from '../faults/replica.ts';
import { replicasOf, type Scene } from '../faults/scene.ts';
import type { Scrape } from '../oracle/record.ts';

const TAIL_EVERY_MS = 1_500;
const TAILS_AT_A_TIME = 4;
const PAGE = 500;
const EPOCH = '1970-01-01T00:00:00.000Z';
const SCRAPE_EVERY_MS = 3_000;
const SCRAPED_WITHIN_MS = 60_000;

interface TailedEvent {
  readonly id: string;
  readonly timestamp: string;
}

/** Repeats work until the returned function is called, which resolves when the work has ended. */
export function repeat(everyMs: number, work: () => Promise<void>): () => Promise<void> {
  const end = new AbortController();
  const running = (async () => {
    while (!end.signal.aborted) {
      await work();
      await wait(everyMs);
    }
  })();
  return async () => {
    end.abort();
    await running;
  };
}

/**
 * Follows the events of each monitor with `since`, the timestamp of the last received event.
 * @returns a function that reads the rest, and returns the received ids by monitor, in order
 */
export function followEvents({ api, registry }: Scene): () => Promise<Map<string, string[]>> {
  const received = new Map<string, TailedEvent[]>();
  const poll = async (monitorId: string): Promise<void> => {
    const known = received.get(monitorId) ?? [];
    received.set(monitorId, known);
    for (;;) {
      const since = encodeURIComponent(known.at(-1)?.timestamp ?? EPOCH);
      const path = `/api/cli/monitors/${monitorId}/events?limit=${PAGE}&since=${since}`;
      const { status, body } = await api.request('GET', path);
      // The monitor has been deleted.
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
    await Promise.all(Array.from({ length: TAILS_AT_A_TIME }, poller));
  };
  const stop = repeat(TAIL_EVERY_MS, pollAll);
  return async () => {
    await stop();
    await pollAll();
    return new Map([...received].map(([id, events]) => [id, events.map((event) => event.id)]));
  };
}

/**
 * Scrapes the metrics of monitors from alternating apis.
 * @returns a function that scrapes every api once more, and returns all scrapes in order
 */
export function followMetrics(scene: Scene): () => Promise<Scrape[]> {
  const apis = replicasOf(scene, 'api');
  const scrapes: Scrape[] = [];
  let count = 0;
  const stop = repeat(SCRAPE_EVERY_MS, async () => {
    const api = apis[count++ % apis.length];
    const scrape = api?.isReady === true ? await readCounters(scene, api) : null;
    if (scrape !== null) scrapes.push(scrape);
  });
  return async () => {
    await stop();
    for (const api of apis) {
      const last = await seenBefore(Date.now() + SCRAPED_WITHIN_MS, () => readCounters(scene, api));
      if (last === null) scene.serviceProblems.push(`${api.name} returned no metrics at the end`);
      else scrapes.push(last);
    }
    return scrapes;
  };
}

async function readCounters({ api: client }: Scene, { name: api, port }: Replica): Promise<Scrape | null> {
  const response = await client.send({ isReady: true, port }, 'GET', '/api/cli/metrics').catch(() => null);
  if (response?.status !== 200) return null;
  const counters = parseMetrics(String(response.body)).flatMap(({ name, labels, value }) => {
    const { monitor_id: monitorId = '', region = '', result = '' } = labels;
    const isCounted = name === 'tocsin_monitor_checks_total';
    return isCounted ? [[`${monitorId} ${region} ${result}`, value] as const] : [];
  });
  return { api, counters: new Map(counters) };
}
