import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { claimDeliveries } from '@tocsin/db/deliveries/claim-deliveries';
import { sql } from 'drizzle-orm';
import { alertOf, makeChannel } from './delivery-steps.ts';
import { makeMonitor, openTestContext, type TestContext } from './harness.ts';

let context: TestContext;
beforeAll(async () => {
  context = await openTestContext();
});
afterAll(() => context.close());

/** A claim, and how many look-ups in the indices of deliveries it took. */
async function claim(): Promise<{ channelIds: string[]; lookUps: number }> {
  return context.db.transaction(async (tx) => {
    const claimed = await claimDeliveries({ ...context, db: tx }, { limit: 100 });
    const { rows } = await tx.execute<{ scans: number }>(sql`
      select sum(pg_stat_get_xact_numscans(indexrelid))::int as scans from pg_index
      where indrelid = 'deliveries'::regclass`);
    return { channelIds: claimed.map(({ channelId }) => channelId), lookUps: rows[0]?.scans ?? NaN };
  });
}

test('a claim visits the channels that have something to send, not every other', async () => {
  const busy = [await makeChannel(context, []), await makeChannel(context, [])];
  await context.db.execute(sql`
    insert into channels (id, account_id, name, url, sealed_secret)
    select gen_random_uuid(), account_id, name, url, sealed_secret from channels, generate_series(1, 1000)
    where id = ${busy[0]}`);
  await context.db.execute(sql`analyze channels`);
  const idle = await claim();
  expect(idle.channelIds).toEqual([]);
  await context.db.execute(
    sql`update channels set all_monitors = true where id = any(${sql.param(busy)}::uuid[])`,
  );
  await alertOf(context, (await makeMonitor(context)).id, 'DOWN');
  const { channelIds, lookUps } = await claim();
  expect(channelIds.toSorted()).toEqual(busy.toSorted());
  expect([idle.lookUps, lookUps].every((count) => count < 100)).toBe(true);
});
