import { existing } from './history.ts';
import type { FaultRecord, Check, EventFacts } from './record.ts';

export const SCRAPE_CHECKS: readonly Check<FaultRecord>[] = [
  ['counters of checks never decrease', decreases],
  ['counters of checks equal the events', wrongCounters],
];

/** Counters do not depend on the api that returns them. */
function decreases({ scrapes }: FaultRecord): string[] {
  return scrapes.slice(1).flatMap(({ api, counters }, index) => {
    const before = scrapes[index];
    return [...counters].flatMap(([key, count]) => {
      const earlier = before?.counters.get(key) ?? 0;
      return count < earlier ? [`${key}: ${earlier} from ${before?.api}, then ${count} from ${api}`] : [];
    });
  });
}

/** In the last scrape of each api, counters equal the number of recorded events. */
function wrongCounters(record: FaultRecord): string[] {
  const last = new Map(record.scrapes.map((scrape) => [scrape.api, scrape.counters]));
  if (last.size === 0) return ['nothing was scraped'];
  return existing(record).flatMap(({ monitor: { id, plan }, events }) => {
    const recorded = new Map<string, number>();
    for (const region of plan.regions)
      for (const result of ['up', 'down', 'inconclusive']) recorded.set(`${id} ${region} ${result}`, 0);
    for (const event of events) {
      const key = `${id} ${event.region} ${resultOf(event)}`;
      const count = recorded.get(key);
      if (event.url === null && count !== undefined) recorded.set(key, count + 1);
    }
    return [...recorded].flatMap(([key, count]) =>
      [...last]
        .filter(([, counters]) => counters.get(key) !== count)
        .map(
          ([api, counters]) => `${plan.key}: ${counters.get(key)} from ${api} for ${count} events (${key})`,
        ),
    );
  });
}

function resultOf({ inconclusive, status }: EventFacts): string {
  return inconclusive ? 'inconclusive' : status.toLowerCase();
}
