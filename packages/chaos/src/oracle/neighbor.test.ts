import { expect, test } from '@jest/globals';
import type { NeighborKind } from '../plan/world.ts';
import { detailsOf, goodRecord, START, visitAt } from '../testing/campaign-record.ts';
import type { CampaignRecord, NeighborFacts } from './record.ts';

const good = goodRecord();
const VISIT = visitAt(0, true);

function withNeighbor(kind: NeighborKind, changed: Partial<NeighborFacts>): CampaignRecord {
  const neighbor = good.neighbor.map((one) => (one.plan.kind === kind ? { ...one, ...changed } : one));
  return { ...good, neighbor };
}

test.each<[string, CampaignRecord, RegExp]>([
  [
    'a check without the headers that no key opens',
    withNeighbor('unreadable', { visits: [VISIT] }),
    /^unreadable-0 was checked 1 times without its headers$/,
  ],
  [
    'an event of an unreadable monitor',
    withNeighbor('unreadable', { eventTimestamps: [START] }),
    /^unreadable-0 was checked 1 times without its headers$/,
  ],
  [
    'an event that Postgres should have refused',
    withNeighbor('poison', { eventTimestamps: [START] }),
    /^poison-0 has 1 events that Postgres refused$/,
  ],
  [
    'an UP event of a target that never responds',
    withNeighbor('silent', { upEvents: 2 }),
    /^silent-0 was UP 2 times, although none of its checks can pass$/,
  ],
  [
    'a slow target that is not checked any more',
    { ...good, endedAt: START + 85_000 },
    /^silent-0 had no check for 76 s after .*:09.000Z$/,
  ],
  [
    'a target that redirects and was never checked',
    withNeighbor('redirecting', { eventTimestamps: [] }),
    /^redirecting-0 was never checked$/,
  ],
  [
    'a delivery to a channel of another account',
    withNeighbor('redirecting', { deliveries: 1 }),
    /^redirecting-0 has deliveries to channels of another account$/,
  ],
  [
    'a monitor that another account sees',
    { ...good, shown: new Map([...good.shown, ['silent-0', 'DOWN']]) },
    /^silent-0 is shown to another account$/,
  ],
  [
    'a checker that did not visit it',
    withNeighbor('redirecting', { visits: [{ ...VISIT, address: '127.0.1.4' }] }),
    /^checker-north-1 did not check all kinds of its monitors$/,
  ],
  [
    'a Postgres that refused nothing',
    { ...good, neighborEvidence: { ...good.neighborEvidence, refusals: 0 } },
    /^Postgres refused none of its results$/,
  ],
  [
    'a checker that looked up no hanging name',
    { ...good, neighborEvidence: { ...good.neighborEvidence, hungLookups: new Map() } },
    /^checker-north-1 looked up no name that hangs$/,
  ],
  [
    'a region without unreadable monitors',
    { ...good, neighborEvidence: { ...good.neighborEvidence, unreadable: new Map([['south', 1]]) } },
    /^no checker of north skipped an unreadable monitor$/,
  ],
])('findViolations finds %s', (_, record, detail) => {
  const details = detailsOf(record, 'the neighbor affects no other account');
  expect(details).toContainEqual(expect.stringMatching(detail));
});
