import { expect, test } from '@jest/globals';
import { detailsOf, goodRecord, MONITOR } from '../testing/campaign-record.ts';
import type { CampaignRecord } from './record.ts';

const good = goodRecord();
const KEY = `${MONITOR.id} north up`;

/** The good record, with these counts of passed checks in the scrapes of two apis. */
function withCounts(...counts: readonly number[]): CampaignRecord {
  const [last] = good.scrapes.slice(-1);
  const scrapes = counts.map((count, index) => ({
    api: `api-${index % 2}`,
    counters: new Map([...(last?.counters ?? []), [KEY, count]]),
  }));
  return { ...good, scrapes };
}

test('counters that rise to the number of events are right', () => {
  const record = withCounts(0, 2, 4, 4);
  expect(detailsOf(record, 'counters of checks never decrease')).toEqual([]);
  expect(detailsOf(record, 'counters of checks equal the events')).toEqual([]);
});

test('a counter that another api has seen higher is found', () => {
  expect(detailsOf(withCounts(3, 2, 4, 4), 'counters of checks never decrease')).toEqual([
    `${KEY}: 3 from api-0, then 2 from api-1`,
  ]);
});

test.each([3, 5])('%i passed checks for 4 events are found at each api', (count) => {
  expect(detailsOf(withCounts(0, count, count), 'counters of checks equal the events')).toEqual([
    `shop: ${count} from api-0 for 4 events (${KEY})`,
    `shop: ${count} from api-1 for 4 events (${KEY})`,
  ]);
});

test('a campaign without scrapes is found', () => {
  expect(detailsOf({ ...good, scrapes: [] }, 'counters of checks equal the events')).toEqual([
    'nothing was scraped',
  ]);
});
