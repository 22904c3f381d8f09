import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals';
import { lockAssignments } from '@tocsin/db/assignments/assignments';
import { systemActor } from '@tocsin/db/audit-log/actor';
import { getChannel } from '@tocsin/db/channels/read-channels';
import { createChannel, updateChannel } from '@tocsin/db/channels/write-channels';
import { recordChecks } from '@tocsin/db/checks/record-checks';
import type { Transaction } from '@tocsin/db/database/open';
import { deleteMonitor } from '@tocsin/db/monitors/delete-monitors';
import { updateMonitor } from '@tocsin/db/monitors/update-monitors';
import { sql } from 'drizzle-orm';
import { checkOf, makeMonitor, openTestContext, type TestContext, untilWaiting } from './harness.ts';

let context: TestContext;
beforeAll(async () => {
  context = await openTestContext();
});
afterAll(() => context.close());
beforeEach(async () => {
  await context.db.execute(sql`truncate monitors, channels cascade`);
});

/** Starts operations while a transaction holds a lock: each waits, for it or for one before. @returns how they ended */
async function startHolding(
  lock: (tx: Transaction) => Promise<unknown>,
  operations: readonly (() => Promise<unknown>)[],
  meanwhile: () => Promise<void> = async () => undefined,
): Promise<PromiseSettledResult<unknown>[]> {
  const started: Promise<unknown>[] = [];
  await context.db.transaction(async (tx) => {
    await lock(tx);
    for (const operation of operations) {
      const running = operation();
      running.catch(() => undefined);
      started.push(running);
      await untilWaiting(context, started.length);
    }
    await meanwhile();
  });
  return Promise.allSettled(started);
}

test('a channel that no longer lists a monitor, but selects it, does not deadlock with its deletion', async () => {
  const { db, accountId } = context;
  const actor = systemActor(accountId);
  const first = await makeMonitor(context);
  const deleted = await makeMonitor(context);
  const { id } = await createChannel(context, actor, {
    name: 'ops',
    url: 'https://hooks.example',
    monitorIds: [deleted.id],
  });
  const results = await startHolding(
    (tx) => tx.execute(sql`select from monitors where id = ${first.id} for update`),
    [
      () => updateChannel(db, actor, id, { monitorIds: [], selector: {} }),
      () => deleteMonitor(db, actor, deleted.id),
    ],
  );
  expect(results.map(({ status }) => status)).toEqual(['fulfilled', 'fulfilled']);
  expect(await getChannel(db, accountId, id)).toMatchObject({ monitorIds: [], selector: {} });
});

test.each([
  ['labels', { labels: { app: 'shop' } }],
  ['source', { source: 'shop' }],
])('an update of the %s that waits for other assignments does not delay results', async (_name, update) => {
  const { db, accountId } = context;
  const actor = systemActor(accountId);
  const { id } = await makeMonitor(context);
  const results = await startHolding(
    (tx) => lockAssignments(tx, accountId, 'exclusive'),
    [() => updateMonitor(context, actor, id, update, 'default')],
    async () => {
      expect(await recordChecks(db, [checkOf(id)])).toMatchObject([{ kind: 'recorded' }]);
    },
  );
  expect(results).toMatchObject([{ status: 'fulfilled', value: { changed: true } }]);
});
