import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { type Actor, systemActor } from '@tocsin/db/audit-log/actor';
import { applySet } from '@tocsin/db/monitor-sets/apply-set';
import { deleteMonitor } from '@tocsin/db/monitors/delete-monitors';
import { getMonitor } from '@tocsin/db/monitors/read-monitors';
import { updateMonitor } from '@tocsin/db/monitors/update-monitors';
import { makeMonitor, openTestContext, type TestContext, untilWaiting } from './harness.ts';

let context: TestContext;
/** May change the source `shop` only. */
let bound: Actor;
beforeAll(async () => {
  context = await openTestContext();
  bound = { ...systemActor(context.accountId), sources: ['shop'] };
});
afterAll(() => context.close());

/** Starts a change while another request, not yet committed, moves the monitor to another source. */
async function changeWhileMoved(id: string, change: () => Promise<unknown>): Promise<unknown> {
  let changed: Promise<unknown> = Promise.resolve();
  await context.db.transaction(async (tx) => {
    const mover = systemActor(context.accountId);
    await updateMonitor({ ...context, db: tx }, mover, id, { source: 'billing' }, 'default');
    changed = change();
    changed.catch(() => undefined);
    await untilWaiting(context, 1);
  });
  return changed;
}

test.each([
  ['update', (id: string) => updateMonitor(context, bound, id, { name: 'New' }, 'default')],
  ['delete', (id: string) => deleteMonitor(context.db, bound, id)],
])('a monitor that leaves the sources of a key during its %s stays', async (_, change) => {
  const { id } = await makeMonitor(context, { source: 'shop' });
  const changed = changeWhileMoved(id, () => change(id));
  await expect(changed).rejects.toMatchObject({ code: 'source_not_allowed' });
  const { monitor } = await getMonitor(context, context.viewer, id);
  expect(monitor).toMatchObject({ name: 'Shop', source: 'billing' });
});

test('a monitor that leaves the source of a set while the set prunes it stays', async () => {
  const { id } = await makeMonitor(context, { source: 'shop' });
  const set = { source: 'shop', monitors: [], prune: true, dryRun: false };
  const applied = await changeWhileMoved(id, () => applySet(context, bound, set, 'default'));
  expect(applied).toMatchObject({ result: { changed: false } });
  expect((await getMonitor(context, context.viewer, id)).monitor.source).toBe('billing');
});
