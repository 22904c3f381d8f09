import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals';
import type { Transaction } from '@tocsin/db/database/open';
import { holdAllIfDisabled } from '@tocsin/db/deliveries/hold-deliveries';
import { dispatchStatusChanges } from '@tocsin/db/status-changes/dispatch-status-changes';
import { sql } from 'drizzle-orm';
import { readDeliveryLog } from './delivery-log.ts';
import { changeStatus, makeChannel } from './delivery-steps.ts';
import { makeMonitor, openTestContext, type TestContext, untilWaiting } from './harness.ts';

let context: TestContext;

beforeAll(async () => {
  context = await openTestContext();
});
afterAll(() => context.close());

beforeEach(async () => {
  await context.db.execute(sql`truncate monitors, channels, status_changes, deliveries cascade`);
});

/** Another transaction locks the first of two rows, then the second one while `work` waits for the first. */
async function lockBeside(
  lock: (tx: Transaction, index: 0 | 1) => Promise<unknown>,
  work: () => Promise<unknown>,
): Promise<void> {
  const working = await context.db.transaction(async (tx) => {
    await lock(tx, 0);
    const started = work();
    started.catch(() => undefined);
    await untilWaiting(context, 1);
    await lock(tx, 1);
    return { started };
  });
  await working.started;
}

test('a dispatch locks channels in the order of their ids, as recording does', async () => {
  const ids = [await makeChannel(context), await makeChannel(context)].toSorted();
  // The first channel is now the last one in the table.
  await context.db.execute(sql`update channels set name = 'moved' where id = ${ids[0]}`);
  await changeStatus(context, (await makeMonitor(context)).id, 'DOWN');
  await lockBeside(
    (tx, index) => tx.execute(sql`select from channels where id = ${ids[index]} for no key update nowait`),
    () => dispatchStatusChanges(context.db, { limit: 10 }),
  );
  for (const id of ids) expect(await readDeliveryLog(context.db, id)).not.toEqual([]);
});

test('deliveries are held in the order of their ids, as they are recorded', async () => {
  const channelId = await makeChannel(context, []);
  await context.db.execute(sql`update channels set enabled = false where id = ${channelId}`);
  const ids = ['00000000-0000-7000-8000-000000000001', '00000000-0000-7000-8000-000000000002'];
  // The second delivery is due first.
  for (const [index, id] of ids.toReversed().entries()) {
    await context.db.execute(sql`
      insert into deliveries (id, account_id, channel_id, status_change_id, monitor_id, event, timestamp, payload, state, next_attempt_at)
      values (${id}, ${context.accountId}, ${channelId}, gen_random_uuid(), gen_random_uuid(), 'monitor.down', now(), '{}', 'pending',
        now() + make_interval(secs => ${index}))`);
  }
  await lockBeside(
    (tx, index) => tx.execute(sql`select from deliveries where id = ${ids[index]} for no key update nowait`),
    () => holdAllIfDisabled(context.db, channelId),
  );
  const states = (await readDeliveryLog(context.db, channelId)).map(({ state }) => state);
  expect(states).toEqual(['held', 'held']);
});

test('a delivery that is recorded while it waits to be held stays delivered', async () => {
  const channelId = await makeChannel(context, []);
  await context.db.execute(sql`update channels set enabled = false where id = ${channelId}`);
  await context.db.execute(sql`
    insert into deliveries (id, account_id, channel_id, status_change_id, monitor_id, event, timestamp, payload, state)
    values (gen_random_uuid(), ${context.accountId}, ${channelId}, gen_random_uuid(), gen_random_uuid(), 'monitor.down', now(), '{}', 'pending')`);
  await lockBeside(
    (tx) => tx.execute(sql`update deliveries set state = 'delivered', next_attempt_at = null`),
    () => holdAllIfDisabled(context.db, channelId),
  );
  expect(await readDeliveryLog(context.db, channelId)).toMatchObject([{ state: 'delivered' }]);
});
