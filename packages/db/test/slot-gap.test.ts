import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { phaseMs } from '@tocsin/core/schedule/slots';
import { systemActor } from '@tocsin/db/audit-log/actor';
import { recordChecks } from '@tocsin/db/checks/record-checks';
import type { CheckRecord } from '@tocsin/db/checks/check-record';
import { updateMonitor } from '@tocsin/db/monitors/update-monitors';
import { checkOf, makeMonitor, openTestContext, type TestContext } from './harness.ts';

let context: TestContext;
beforeAll(async () => {
  context = await openTestContext();
});
afterAll(() => context.close());

const HOUR = 1_800_000_000_000;

/** The nth slot of a monitor's interval. */
function slotOf(monitorId: string, intervalSeconds: number, index: number): number {
  const intervalMs = intervalSeconds * 1_000;
  return HOUR - (HOUR % intervalMs) + index * intervalMs + phaseMs(monitorId, intervalMs);
}

async function gapOf(check: CheckRecord): Promise<unknown> {
  const [outcome] = await recordChecks(context.db, [check]);
  return outcome?.kind === 'recorded' ? outcome.gap : outcome?.kind;
}

test('a result returns how many planned slots of its region were missed before it', async () => {
  const { id } = await makeMonitor(context, { interval: 60, regions: ['eu', 'us'] });
  const at = (index: number, region = 'eu'): CheckRecord =>
    checkOf(id, { region, slot: slotOf(id, 60, index) });
  expect(await gapOf(at(1))).toBeNull();
  expect(await gapOf(at(2))).toBeNull();
  expect(await gapOf(at(9, 'us'))).toBeNull();
  expect(await gapOf(at(6))).toEqual({ after: slotOf(id, 60, 2), slots: 3 });
  expect(await gapOf(at(5))).toBeNull();
  expect(await gapOf(at(7))).toBeNull();
  expect(await gapOf(checkOf(id, { region: 'eu', slot: null, source: 'trigger' }))).toBeNull();
  expect(await gapOf(checkOf(id, { region: 'gone', slot: slotOf(id, 60, 30) }))).toBeNull();
});

test('a shorter interval causes no gap', async () => {
  let { id } = await makeMonitor(context, { interval: 3_600 });
  // One monitor in 1,200 has the same phase in both intervals.
  for (let tries = 0; phaseMs(id, 3_600_000) % 60_000 === phaseMs(id, 60_000) && tries < 9; tries += 1) {
    ({ id } = await makeMonitor(context, { interval: 3_600 }));
  }
  await gapOf(checkOf(id, { slot: slotOf(id, 3_600, 0) }));
  await updateMonitor(context, systemActor(context.accountId), id, { interval: 60 }, 'default');
  const at = (index: number): CheckRecord => checkOf(id, { slot: slotOf(id, 60, index), revision: 2 });
  expect(await gapOf(at(100))).toBeNull();
  expect(await gapOf(at(102))).toEqual({ after: slotOf(id, 60, 100), slots: 1 });
});
