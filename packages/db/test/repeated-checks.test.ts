import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { systemActor } from '@tocsin/db/audit-log/actor';
import { recordChecks } from '@tocsin/db/checks/record-checks';
import type { CheckRecord } from '@tocsin/db/checks/check-record';
import { listEvents } from '@tocsin/db/events/read-events';
import { updateMonitor } from '@tocsin/db/monitors/update-monitors';
import { checkOf, makeMonitor, openTestContext, type TestContext } from './harness.ts';

let context: TestContext;
beforeAll(async () => {
  context = await openTestContext();
});
afterAll(() => context.close());

let slots = 0;
/** A result of a recent slot, a different one each time. */
function lateCheck(monitorId: string, region = 'eu'): CheckRecord {
  slots += 1;
  return checkOf(monitorId, { region, slot: Date.now() - 60_000 + slots });
}

async function kindsOf(...checks: CheckRecord[]): Promise<string[]> {
  return (await recordChecks(context.db, checks)).map((outcome) => outcome.kind);
}

async function countEvents(monitorId: string): Promise<number> {
  return (await listEvents(context.db, context.accountId, monitorId, { limit: 50 })).length;
}

function setRegions(monitorId: string, regions: string[]): Promise<unknown> {
  return updateMonitor(context, systemActor(context.accountId), monitorId, { regions }, 'default');
}

describe('a result of a region that no longer checks the monitor', () => {
  test('is recorded once, even if its job runs again', async () => {
    const { id } = await makeMonitor(context, { regions: ['eu', 'us'] });
    await setRegions(id, ['us']);
    const late = lateCheck(id);
    expect(await kindsOf(late)).toEqual(['recorded']);
    expect(await kindsOf({ ...late })).toEqual(['duplicate']);
    expect(await countEvents(id)).toBe(1);
  });

  test('that was recorded before the region was removed is not recorded again', async () => {
    const { id } = await makeMonitor(context, { regions: ['eu', 'us'] });
    const check = lateCheck(id);
    await kindsOf(check);
    await setRegions(id, ['us']);
    expect(await kindsOf({ ...check })).toEqual(['duplicate']);
    await setRegions(id, ['us', 'eu']);
    expect(await kindsOf({ ...check })).toEqual(['duplicate']);
    expect(await countEvents(id)).toBe(1);
  });

  test('does not prevent results of other slots, regions or monitors', async () => {
    const { id } = await makeMonitor(context, { regions: ['us'] });
    const other = await makeMonitor(context, { regions: ['us'] });
    const late = lateCheck(id);
    await kindsOf(late);
    expect(await kindsOf({ ...late, monitorId: other.id }, { ...late })).toEqual(['recorded', 'duplicate']);
    expect(await kindsOf({ ...late, region: 'ap' })).toEqual(['recorded']);
    expect(await kindsOf(lateCheck(id))).toEqual(['recorded']);
  });
});
