import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { createTrigger } from '@tocsin/db/triggers/create-trigger';
import { findMonitorRow } from '@tocsin/db/monitors/find-monitor-row';
import { createInvitation } from '@tocsin/db/invitations/create-invitation';
import { createSilentLogger } from '@tocsin/runtime/logger';
import { commitMonitor } from '../testing/schedules.ts';
import { newSignedInUser } from '../testing/sign-in.ts';
import { openTestApi } from '../testing/test-api.ts';
import type { TestApi } from '../testing/test-api.ts';
import { until } from '../testing/until.ts';
import { keepHouse, startHousekeeping } from './housekeeping.ts';
import type { HousekeepingOptions } from './housekeeping.ts';

let api: TestApi;
let options: HousekeepingOptions;
beforeAll(async () => {
  api = await openTestApi();
  options = { db: api.context.db, retentionDays: 90, isLeader: () => true, logger: createSilentLogger() };
});
afterAll(() => api.close());

const nameOf = (daysFromNow: number): string =>
  `events_${new Date(Date.now() + daysFromNow * 86_400_000).toISOString().slice(0, 10).replaceAll('-', '_')}`;

async function partitions(): Promise<string[]> {
  const { rows } = await api.database.pool.query<{ name: string }>(
    `select inhrelid::regclass::text as name from pg_inherits where inhparent = 'events'::regclass`,
  );
  return rows.map(({ name }) => name);
}

async function addPartition(daysFromNow: number): Promise<void> {
  const day = (days: number): string => nameOf(days).slice(7).replaceAll('_', '-');
  await api.database.pool.query(
    `create table ${nameOf(daysFromNow)} partition of events
     for values from ('${day(daysFromNow)}') to ('${day(daysFromNow + 1)}')`,
  );
}

describe('housekeeping', () => {
  test('makes partitions of the coming week, and drops those beyond the retention only', async () => {
    await api.database.pool.query(`drop table ${nameOf(5)}`);
    for (const days of [-500, -91, -90, -30]) await addPartition(days);
    await keepHouse(options);
    const names = await partitions();
    expect(names).toEqual(
      expect.arrayContaining([nameOf(-90), nameOf(-30), nameOf(0), nameOf(5), nameOf(7)]),
    );
    expect(names).not.toContain(nameOf(-500));
    expect(names).not.toContain(nameOf(-91));
  });

  test('deletes triggers that nobody waits for, and no others', async () => {
    const { id } = await commitMonitor(api);
    const row = await findMonitorRow(api.context.db, api.account.id, id);
    const old = await createTrigger(api.context.db, row, null, 5_000);
    const fresh = await createTrigger(api.context.db, row, null, 5_000);
    await api.database.pool.query(
      `update triggers set created_at = now() - interval '61 minutes' where id = $1`,
      [old.id],
    );
    await keepHouse(options);
    const { rows } = await api.database.pool.query('select id from triggers');
    expect(rows).toEqual([{ id: fresh.id }]);
  });

  test('deletes sessions that have expired, and invitations a month after they did', async () => {
    const kept = await newSignedInUser(api);
    const gone = await newSignedInUser(api);
    const { pool } = api.database;
    await pool.query(`update sessions set expires_at = now() where user_id = $1`, [gone.id]);
    await pool.query(
      `insert into verifications (id, identifier, value, expires_at)
       values (gen_random_uuid(), 'old', '', now()), (gen_random_uuid(), 'new', '', now() + interval '1 minute')`,
    );
    for (const [email, days] of [
      ['old@example.com', 31],
      ['recent@example.com', 29],
    ] as const) {
      const invitation = { accountId: api.account.id, role: 'member', email, createdBy: kept.id } as const;
      await createInvitation(api.context.db, invitation);
      await pool.query(`update invitations set expires_at = now() - $1 * interval '1 day' where email = $2`, [
        days,
        email,
      ]);
    }
    await keepHouse(options);
    const { rows } = await pool.query(
      `select user_id::text as left from sessions union select identifier from verifications
       union select email from invitations`,
    );
    expect(rows.map(({ left }: { left: string }) => left).sort()).toEqual(
      [kept.id, 'new', 'recent@example.com'].sort(),
    );
  });

  test('is done by the leader, and by nobody else', async () => {
    await api.database.pool.query(`drop table ${nameOf(6)}`);
    const standby = startHousekeeping({ ...options, isLeader: () => false });
    await standby.stop();
    expect(await partitions()).not.toContain(nameOf(6));
    const leader = startHousekeeping(options);
    await until(async () => (await partitions()).includes(nameOf(6)));
    await leader.stop();
  });
});
