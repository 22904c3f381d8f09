import { setTimeout as wait } from 'node:timers/promises';
import { parseMetrics } from '@tocsin/embedded/testing/metrics-text';
import { seenBefore } from '@tocsin/embedded/testing/until';
import type { Scrape } from '../oracle/record.ts';
import type { Replica } from './replica.ts';
import type { Scene } from './scene.ts';

const EVERY_MS = 3_000;
const SCRAPED_WITHIN_MS = 60_000;

/**
 * Scrapes the metrics of monitors, each time from the next api.
 * @returns a function that scrapes every api once more, and returns all scrapes in their order
 */
export function followMetrics(scene: Scene): () => Promise<Scrape[]> {
  const apis = scene.replicas.filter(({ plan }) => plan.service === 'api');
  const scrapes: Scrape[] = [];
  const end = new AbortController();
  const follow = async (): Promise<void> => {
    for (let turn = 0; !end.signal.aborted; turn += 1) {
      const api = apis[turn % apis.length];
      const scrape = api?.isReady === true ? await readCounters(scene, api) : null;
      if (scrape !== null) scrapes.push(scrape);
      await wait(EVERY_MS);
    }
  };
  const following = follow();
  return async () => {
    end.abort();
    await following;
    for (const api of apis) {
      const last = await seenBefore(Date.now() + SCRAPED_WITHIN_MS, () => readCounters(scene, api));
      if (last === null) scene.serviceProblems.push(`${api.plan.name} returned no metrics at the end`);
      else scrapes.push(last);
    }
    return scrapes;
  };
}

/** Null without a complete response. */
async function readCounters({ api: client }: Scene, { plan, port }: Replica): Promise<Scrape | null> {
  const response = await client.send({ isReady: true, port }, 'GET', '/api/cli/metrics').catch(() => null);
  if (response?.status !== 200) return null;
  const counters = parseMetrics(String(response.body)).flatMap(({ name, labels, value }) => {
    const { monitor_id: monitorId = '', region = '', result = '' } = labels;
    const isCounted = name === 'tocsin_monitor_checks_total';
    return isCounted ? [[`${monitorId} ${region} ${result}`, value] as const] : [];
  });
  return { api: plan.name, counters: new Map(counters) };
}
