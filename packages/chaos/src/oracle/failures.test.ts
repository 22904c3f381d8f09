import { describe, expect, test } from '@jest/globals';
import { visitAt, eventAt, goodRecord, MONITOR, START } from '../testing/campaign-record.ts';
import { unexplainedFailures } from './checks.ts';
import type { CampaignRecord } from './record.ts';
import type { TargetVisit } from '../world/targets.ts';

const good = goodRecord();
const SLOT = 60;
/** A check of `SLOT` that timed out after two seconds. */
const timeout = eventAt(SLOT, false, {
  timestamp: START + (SLOT + 2) * 1_000,
  statusCode: null,
  errorReason: 'TIMEOUT',
});
const record: CampaignRecord = {
  ...good,
  database: { ...good.database, events: [...good.database.events, timeout] },
};

function visited(changed: Partial<TargetVisit>): CampaignRecord {
  return { ...record, visits: [...good.visits, { ...visitAt(SLOT, true), ...changed }] };
}

/** A fault from 20 s before the check to this long after it. */
function during(name: string, victim: string | null, untilMs: number): CampaignRecord {
  const firedAt = START + (SLOT - 20) * 1_000;
  const endedAt = START + SLOT * 1_000 + untilMs;
  return { ...record, faults: [{ name, victim, firedAt, endedAt, note: '' }] };
}

test('a failure without a cause is a violation', () => {
  expect(unexplainedFailures(record)).toEqual([
    expect.stringMatching(/^shop: TIMEOUT from north at .*:02.000Z, which neither its target nor a fault/),
  ]);
});

describe('a failure is not explained by', () => {
  test.each<[string, CampaignRecord]>([
    ['a target that responded at once', visited({})],
    ['a target that hung before', visited({ at: START + (SLOT - 5) * 1_000, respondedAt: null })],
    ['names that failed long before', during('dns-hang', null, -16_000)],
    ['a checker of another region that was frozen', during('stop-checker-probing', 'checker-south-1', 0)],
    ['a checker that was killed', during('kill-checker-probing', 'checker-north-1', 0)],
    [
      'failing DNS, for a target with an address in its URL',
      {
        ...during('dns-fail', null, 0),
        monitors: [{ ...MONITOR, plan: { ...MONITOR.plan, byName: false } }],
      },
    ],
  ])('%s', (_, changed) => {
    expect(unexplainedFailures(changed)).toHaveLength(1);
  });
});

describe('a failure is explained by', () => {
  test.each<[string, CampaignRecord]>([
    ['a target that hung', visited({ state: 'hang', respondedAt: null })],
    ['a request that a fault delayed', visited({ respondedAt: START + (SLOT + 3) * 1_000 })],
    ['names that failed', during('dns-fail', null, 0)],
    ['names that failed until shortly before', during('dns-hang', null, -14_000)],
    ['a checker of its region that was frozen', during('stop-checker-probing', 'checker-north-1', -4_000)],
  ])('%s', (_, changed) => {
    expect(unexplainedFailures(changed)).toEqual([]);
  });
});
