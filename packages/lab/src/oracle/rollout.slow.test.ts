import { expect, test } from '@jest/globals';
import { GOOD } from '../testing/campaign-record.ts';
import { testViolations, type ViolationTable } from '../testing/violations.ts';
import { findViolations } from './find-violations.ts';
import type { RolloutPhase, RolloutRecord } from './record.ts';

const CHECKS = { planned: 30_000, checked: 30_000, events: 30_000, failed: 120, unanswered: 0 };
const UPGRADE = { name: 'upgrade', seconds: 60, latestMs: 900, maxMissedShare: 0, ...CHECKS };
const RECORD: RolloutRecord = { ...GOOD, campaign: 'rollout', phases: [UPGRADE] };

function withPhase(change: Partial<RolloutPhase>): RolloutRecord {
  return { ...RECORD, phases: [{ ...UPGRADE, ...change }] };
}

test('a healthy rollout has no violations, and may miss a share of the checks while parts are killed', () => {
  expect(findViolations(RECORD)).toEqual([]);
  expect(findViolations(withPhase({ checked: 29_700, events: 29_700, maxMissedShare: 0.01 }))).toEqual([]);
});

const VIOLATIONS: ViolationTable<RolloutRecord> = {
  'every phase has something to lose': {
    'upgrade: no checks were planned': withPhase({ planned: 0, checked: 0, events: 0 }),
    'upgrade: no target failed': withPhase({ failed: 0 }),
  },
  'every planned check is recorded once': {
    'upgrade: 301 planned checks were missed': withPhase({ checked: 29_699, maxMissedShare: 0.01 }),
    'upgrade: 1 events repeat a planned check': withPhase({ events: 30_001 }),
  },
  'every failure is a response of the target': {
    'upgrade: 2 checks failed without one': withPhase({ unanswered: 2 }),
  },
  'each monitor shows the state of its target': {
    'shop: its target is up at the end, the API shows DOWN': {
      ...RECORD,
      shown: new Map([['monitor-id', 'DOWN']]),
    },
  },
  // One invariant that holds in every run.
  'nothing is received that is not stored': { 'unknown request GET /': { ...RECORD, strays: ['GET /'] } },
};

testViolations(VIOLATIONS, findViolations);
